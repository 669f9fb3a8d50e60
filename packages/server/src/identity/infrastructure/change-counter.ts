// Counts the changes in this process, so that cached results are rechecked at once after a change.

export type ChangeCounter = { current(): number; bump(): void };

export function createChangeCounter(): ChangeCounter {
  let count = 0;
  return {
    current: () => count,
    bump() {
      count += 1;
    },
  };
}
