// Finds the known name that a mistyped one most likely meant, by edit distance (Levenshtein).

export function nearestName(name: string, known: readonly string[]): string {
  const ranked = known.map((candidate) => ({ candidate, distance: distance(name, candidate) }));
  return ranked.toSorted((left, right) => left.distance - right.distance)[0]?.candidate ?? '';
}

function distance(left: string, right: string): number {
  let above = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row += 1) {
    const line = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const changed = left[row - 1] === right[column - 1] ? 0 : 1;
      line.push(
        Math.min(
          (above[column] ?? 0) + 1,
          (line[column - 1] ?? 0) + 1,
          (above[column - 1] ?? 0) + changed,
        ),
      );
    }
    above = line;
  }
  return above[right.length] ?? 0;
}
