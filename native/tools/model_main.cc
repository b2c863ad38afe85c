// rota-model: writes and describes model files. Only composes; the commands are in tools/.
#include "tools/model_tool.h"

int main(int argc, char** argv) { return rota::run_model_tool(argc, argv); }
