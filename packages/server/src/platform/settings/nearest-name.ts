// Finds the known name that is nearest to a mistyped one, by edit distance (Levenshtein).

export function nearestName(name: string, names: readonly string[]): string {
  const ranked = names.map((candidate) => ({ candidate, distance: distance(name, candidate) }));
  return ranked.toSorted((first, second) => first.distance - second.distance)[0]?.candidate ?? '';
}

function distance(first: string, second: string): number {
  let previousRow = Array.from({ length: second.length + 1 }, (_, column) => column);
  for (let row = 1; row <= first.length; row += 1) {
    const currentRow = [row];
    for (let column = 1; column <= second.length; column += 1) {
      const changed = first[row - 1] === second[column - 1] ? 0 : 1;
      currentRow.push(
        Math.min(
          (previousRow[column] ?? 0) + 1,
          (currentRow[column - 1] ?? 0) + 1,
          (previousRow[column - 1] ?? 0) + changed,
        ),
      );
    }
    previousRow = currentRow;
  }
  return previousRow[second.length] ?? 0;
}
