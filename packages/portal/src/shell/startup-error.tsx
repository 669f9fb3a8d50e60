/** Shown in three languages if the session or the texts cannot be loaded. */
import { Button } from '@mantine/core';
import { isProblem } from '../api/api-errors.ts';

const sentences = [
  ['en', 'The portal cannot be reached just now.'],
  ['fr', 'Le portail est injoignable pour le moment.'],
  ['de', 'Das Portal ist zurzeit nicht erreichbar.'],
] as const;

export function StartupError({
  fault,
  onRetry,
}: {
  readonly fault: unknown;
  readonly onRetry: () => void;
}) {
  return (
    <main className="sy-boot" role="alert">
      <img src="/portal/mark.svg" alt="" width="40" height="40" />
      {sentences.map(([language, sentence]) => (
        <p key={language} lang={language}>
          {sentence}
        </p>
      ))}
      {isProblem(fault) && <code>{fault.problem.requestId}</code>}
      <Button onClick={onRetry}>↻</Button>
    </main>
  );
}
