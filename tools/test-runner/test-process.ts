// A process of tests: imports the files that the runner sends, one after the other, and runs their tests.
// Files share what they load, one database and one platform, however the runner distributes them.
import { once } from 'node:events';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { nextFileRequest, nextFileTest } from './next-file.ts';

type Gate = { reached: Promise<void>; open(): void };

/** A test that waits. Node ends a run when no test is left, so one waits behind those of each file. */
function registerGate(): Gate {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  void test(nextFileTest, () => {
    reached.resolve();
    return opened.promise;
  });
  return { reached: reached.promise, open: opened.resolve };
}

/** Empty after the last file. */
async function requestFile(): Promise<string> {
  const answer = once(process, 'message');
  process.send?.(nextFileRequest);
  const [file] = await answer;
  return String(file);
}

let gate = registerGate();
await gate.reached;
for (let file = await requestFile(); file !== ''; file = await requestFile()) {
  try {
    await import(pathToFileURL(file).href);
  } catch (error) {
    void test(`${file} is imported`, () => {
      throw error;
    });
  }
  const next = registerGate();
  gate.open();
  gate = next;
  await gate.reached;
}
process.disconnect();
gate.open();
