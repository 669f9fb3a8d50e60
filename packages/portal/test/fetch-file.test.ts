// Fetching a file over connections that break: it goes on where it was, begins anew where it has changed, and ends.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Problem } from '@switchyard/contract';
import { fetchFile } from '../src/api/fetch-file.ts';
import { ConnectionError, ProblemError, SignedOutError } from '../src/api/problem.ts';

type Headers = Readonly<Record<string, string>>;

const bytesOf = (text: string) => new TextEncoder().encode(text);

/** An answer of which so many bytes come before the connection breaks; all of them where none are named. */
function answer(text: string, from: number, tag: string, breaksAfter?: number): Response {
  const content = bytesOf(text).slice(from);
  let sent = false;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (!sent) {
        sent = true;
        controller.enqueue(content.slice(0, breaksAfter ?? content.length));
      } else if (breaksAfter === undefined) controller.close();
      else controller.error(new TypeError('network error'));
    },
  });
  return new Response(body, { status: from === 0 ? 200 : 206, headers: { etag: tag } });
}

/** What is asked of the platform, step by step. */
function fetching(steps: readonly ((headers: Headers) => Response)[]) {
  const asked: Headers[] = [];
  const waits: number[] = [];
  const got = fetchFile({
    async ask(headers) {
      const step = steps[asked.length];
      asked.push(headers);
      assert.ok(step !== undefined, 'asked too often');
      return step(headers);
    },
    async wait(ms) {
      waits.push(ms);
    },
  });
  return { asked, waits, text: got.then((blob) => blob.text()) };
}

const fails = (fault: Error) => () => {
  throw fault;
};
const busy = new ProblemError({ detail: 'busy', retryable: true } as Problem);

describe('a file that is fetched', () => {
  test('comes in one answer where nothing breaks', async () => {
    const { asked, text } = fetching([() => answer('whole', 0, '"1"')]);
    assert.equal(await text, 'whole');
    assert.deepEqual(asked, [{}]);
  });

  test('goes on behind the last byte that came, over a platform that starts anew', async () => {
    const { asked, waits, text } = fetching([
      () => answer('0123456789', 0, '"1"', 4),
      fails(new ConnectionError(undefined)),
      fails(busy),
      () => answer('0123456789', 4, '"1"', 3),
      () => answer('0123456789', 7, '"1"'),
    ]);
    assert.equal(await text, '0123456789');
    assert.deepEqual(
      asked.map(({ range }) => range),
      [undefined, 'bytes=4-', 'bytes=4-', 'bytes=4-', 'bytes=7-'],
    );
    assert.equal(asked[4]?.['if-range'], '"1"');
    assert.deepEqual(waits, [500, 1_000, 2_000, 500]);
  });

  test('begins anew where it is another one by now', async () => {
    const { text } = fetching([() => answer('former', 0, '"1"', 3), () => answer('new', 0, '"2"')]);
    assert.equal(await text, 'new');
  });

  test('ends with a refusal, with a session that is over, and after many breaks in which nothing came', async () => {
    const refused = new ProblemError({ detail: 'gone', retryable: false } as Problem);
    for (const fault of [refused, new SignedOutError()]) {
      const { asked, text } = fetching([() => answer('text', 0, '"1"', 2), fails(fault)]);
      await assert.rejects(text, fault);
      assert.equal(asked.length, 2);
    }
    const lost = new ConnectionError(undefined);
    const { asked, text } = fetching(Array.from({ length: 9 }, () => fails(lost)));
    await assert.rejects(text, lost);
    assert.equal(asked.length, 9);
  });
});
