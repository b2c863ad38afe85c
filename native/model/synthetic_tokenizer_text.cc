// The text that synthetic tokenizers learn their merges from: prose, code, lists and some Chinese,
// written for this.
#include "model/synthetic_tokenizer.h"

namespace rota::tokenizer_internal {

std::string training_text() {
  return R"TEXT(The machine under the desk has two kinds of memory and a disk. The fast memory is small, the slow memory is
large, and the disk is larger than both of them together. A model that does not fit in the fast memory has to be spread
over all three, and every token that it writes asks for a few of its experts. Where those experts are when they are
asked for decides how long the token takes. Nobody can tell from the name of an option how much time it saves. One has
to measure it, and one has to measure it more than once, because the machine is never quite the same machine twice.

In the morning the room is cold and the clocks run high. In the afternoon another user starts a long job, and the same
command takes twice as long as before. Someone who ran the first option in the morning and the second option in the
afternoon would believe that the first option is better. They would write it down, and other people would read it, and
soon everyone would use the first option and nobody would know why. The remedy is old and simple: run both options in
the morning, and both in the afternoon, in an order that is decided by chance, and compare them only with each other.

"How much faster is it?" asked the farmer, who had come to town to sell her apples.
"It depends on what you ask for," answered the old man. "If you ask for a list of numbers, it is much faster. If you
ask for a story, it is a little faster. If you ask for something that nobody has ever said before, it is not faster at
all, and it may be slower, because it guesses what you will say and has to take its guesses back."
She thought about that for a while. "Then I will ask for the story," she said, "since I know how the list ends."

One, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen, fourteen, fifteen, sixteen.
Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday. January, February, March, April, May, June, July,
August, September, October, November, December. North, east, south, west. Red, orange, yellow, green, blue, violet.
1. The first item of the list is short.
2. The second item of the list is a little longer than the first.
3. The third item of the list is about the weather: it will rain today, and it will be sunny tomorrow.
4. The fourth item of the list is the last one.
item 1: 10, item 2: 20, item 3: 30, item 4: 40, item 5: 50, item 6: 60, item 7: 70, item 8: 80, item 9: 90
the square of 1 is 1, the square of 2 is 4, the square of 3 is 9, the square of 4 is 16, the square of 5 is 25

```python
def mean(values):
    total = 0.0
    for value in values:
        total = total + value
    return total / len(values)

class Counter:
    def __init__(self, name):
        self.name = name
        self.count = 0

    def add(self, number=1):
        self.count += number
        return self.count

if __name__ == "__main__":
    counter = Counter("lookups")
    for index in range(10):
        if index % 2 == 0:
            counter.add(index)
    print(counter.name, counter.count, mean([1, 2, 3]))
```

```typescript
export function ratio(first: number, second: number): number {
  if (second === 0) {
    throw new Error("the second number must not be zero");
  }
  return first / second;
}

const results = new Map<string, number[]>();
for (const [name, values] of results) {
  const total = values.reduce((sum, value) => sum + value, 0);
  console.log(`${name}: ${total / values.length}`);
}
```

```cpp
#include <vector>
int main() {
  std::vector<int> numbers = {1, 2, 3};
  int sum = 0;
  for (int number : numbers) { sum += number; }
  return sum == 6 ? 0 : 1;
}
```

## How to read a result
- The **rate** is the number of tokens in a second, without the first one.
- The **ratio** compares two settings within one block; above one is faster.
- The **interval** says how sure the ratio is. A wide interval means: measure again, or measure longer.
- The **output** says whether the two settings wrote the same text. If they did not, the ratio is not a gain but a trade.

| setting | rate | output |
|---|---|---|
| base | 41.5 | same |
| more memory | 52.0 | same |
| fewer experts | 60.2 | changed |

{"id": 1, "name": "base", "values": [1.5, 2.5, 3.5], "same": true, "next": null}

今天天气很好，我们去公园散步。明天可能会下雨，请带上雨伞。
机器有两种内存和一块硬盘。快的内存很小，慢的内存很大，硬盘比它们都大。
模型不能全部放进快的内存，所以要分成三份。每写一个字，模型都要用几个专家。
第一，第二，第三，第四，第五。一，二，三，四，五，六，七，八，九，十。

Dear reader, you have come to the end of this text. It was not written to be clever. It was written so that a small
machine can learn which letters like to stand together, and so that whoever reads its words later can see that they are
words. Thank you for your patience, and good luck with your measurements!
)TEXT";
}

}  // namespace rota::tokenizer_internal
