/** A list of codes, such as payment types. */
export function CodeList({ words }: { readonly words: readonly string[] }) {
  return (
    <ul className="sy-words">
      {words.map((word) => (
        <li key={word}>{word}</li>
      ))}
    </ul>
  );
}
