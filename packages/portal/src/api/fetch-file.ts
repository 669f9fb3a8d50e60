/** Fetches a file over as many answers as it takes: one that broke off goes on where it was. */
import { ConnectionError, isProblem } from './problem.ts';

/** Breaks one after the other in which nothing came. */
const breaksMost = 8;
const firstPauseMs = 500;
const longestPauseMs = 8_000;

export type FileDeps = {
  /** Asks for the file; refusals are thrown. */
  readonly ask: (headers: Readonly<Record<string, string>>) => Promise<Response>;
  readonly wait: (ms: number) => Promise<void>;
};

type Got = { readonly parts: Uint8Array<ArrayBuffer>[]; bytes: number; tag: string | null };

/** The stream of an answer breaks with a fault of the browser's own. */
class Broken extends Error {}

async function readInto(got: Got, answer: Response): Promise<void> {
  const tag = answer.headers.get('etag');
  if (answer.status !== 206) {
    got.parts.length = 0;
    got.bytes = 0;
  }
  got.tag = tag;
  const reader = answer.body?.getReader();
  for (;;) {
    const read = await reader?.read().catch((cause: unknown) => {
      throw new Broken('the answer broke off', { cause });
    });
    if (read === undefined || read.done) return;
    got.parts.push(read.value);
    got.bytes += read.value.byteLength;
  }
}

/** Where asking again may help. */
export function isPassing(fault: unknown): boolean {
  return (
    fault instanceof Broken ||
    fault instanceof ConnectionError ||
    (isProblem(fault) && fault.problem.retryable)
  );
}

export async function fetchFile({ ask, wait }: FileDeps): Promise<Blob> {
  const got: Got = { parts: [], bytes: 0, tag: null };
  for (let breaks = 0; ; ) {
    const before = got.bytes;
    try {
      const rest = { range: `bytes=${got.bytes}-`, 'if-range': got.tag ?? '' };
      await readInto(got, await ask(got.bytes > 0 && got.tag !== null ? rest : {}));
      return new Blob(got.parts);
    } catch (fault) {
      breaks = got.bytes > before ? 1 : breaks + 1;
      if (!isPassing(fault) || breaks > breaksMost) throw fault;
      await wait(Math.min(firstPauseMs * 2 ** (breaks - 1), longestPauseMs));
    }
  }
}
