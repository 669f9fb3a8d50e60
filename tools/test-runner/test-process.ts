// A process of tests: imports the files that the runner sends, one after the other, and runs their tests.
// Files share what they load, one database and one platform, however the runner distributes them.
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { nextFileRequest, nextFileTest } from './next-file.ts';

/** Required, because the first import of `node:test` fixes the functions that test files import. */
const nodeTest = createRequire(import.meta.url)('node:test') as typeof import('node:test');
const { after, getTestContext, test } = nodeTest;
const hookLimitMs = 120_000;

type Gate = { reached: Promise<void>; open(): void };

/** A test that waits for the next file. Without it Node would end the run after the first file. */
function registerGate(): Gate {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  void test(nextFileTest, () => {
    reached.resolve();
    return opened.promise;
  });
  return { reached: reached.promise, open: opened.resolve };
}

/** Returns an empty text after the last file. */
async function requestFile(): Promise<string> {
  const answer = once(process, 'message');
  process.send?.(nextFileRequest);
  const [file] = await answer;
  return String(file);
}

let currentFile = '';

/**
 * Node skips all hooks behind one that fails at the top of a file, and reports no failure: servers of other files
 * would stay open. Such a hook fails the process, after the others have run.
 */
async function runClosingHook(hook: () => unknown, file: string): Promise<void> {
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => limit.reject(new Error(`it did not end within ${hookLimitMs / 1000} s`)),
    hookLimitMs,
  );
  try {
    await Promise.race([hook(), limit.promise]);
  } catch (error) {
    console.error(
      `✗ an after hook at the top of ${file} (or of a file that it imports) failed:`,
      error,
    );
    process.once('exit', () => {
      process.exitCode = 1;
    });
  } finally {
    clearTimeout(timer);
  }
}

/** Limits a top-level hook to the tests of its file: Node would run it for all tests of the process. */
for (const name of ['beforeEach', 'afterEach'] as const) {
  const register = nodeTest[name];
  nodeTest[name] = (hook, options) => {
    const file = currentFile;
    const isAtTop = getTestContext() === undefined;
    const ofThisFile = (context: { name: string }) =>
      currentFile === file && context.name !== nextFileTest
        ? (hook as (context: unknown) => unknown)(context)
        : undefined;
    register(isAtTop ? ofThisFile : hook, options);
  };
}

nodeTest.after = (hook, options) => {
  const file = currentFile;
  const isAtTop = getTestContext() === undefined && hook !== undefined;
  after(isAtTop ? () => runClosingHook(hook as () => unknown, file) : hook, options);
};

let gate = registerGate();
await gate.reached;
for (let file = await requestFile(); file !== ''; file = await requestFile()) {
  currentFile = file;
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
