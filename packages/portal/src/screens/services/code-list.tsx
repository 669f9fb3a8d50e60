/** Codes of a service, such as its payment types. */
export function WordList({ words }: { readonly words: readonly string[] }) {
  return (
    <ul className="sy-words">
      {words.map((word) => (
        <li key={word}>{word}</li>
      ))}
    </ul>
  );
}
