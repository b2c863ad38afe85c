// The conversation of a loaded engine: tasks in, answers out, one at a time. Owns the loop;
// computes nothing.
#pragma once

#include "engines/inbox.h"
#include "engines/outbox.h"
#include "engines/strata/strata_engine.h"

namespace rota {

// Until the inbox says that the engine is to end. kIo when something that was asked for could not
// be written until then.
Status serve(StrataEngine& engine, Inbox& inbox, Outbox& outbox);

}  // namespace rota
