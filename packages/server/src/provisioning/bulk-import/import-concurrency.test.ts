// Tests which imports get a place while other clients are slow.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createImportConcurrency } from './import-concurrency.ts';

async function* endless(): AsyncGenerator<string> {
  for (;;) yield 'line';
}

describe('places of imports', () => {
  const concurrency = createImportConcurrency();
  const opened = async (owner: { organizationId: string; merchantId?: string }) => {
    const answers = concurrency.limitOpenImports(owner, endless());
    await answers.next();
    return answers;
  };
  const isFull = { code: 'overloaded' };

  test('one organisation or merchant cannot use all imports, and an ended import frees its slot', async () => {
    const merchant = { organizationId: 'A', merchantId: 'M' };
    const openImports = [await opened(merchant), await opened(merchant)];
    await assert.rejects(opened(merchant), isFull);
    openImports.push(await opened({ organizationId: 'A' }), await opened({ organizationId: 'A' }));
    await assert.rejects(opened({ organizationId: 'A' }), isFull);
    await assert.rejects(opened({ organizationId: 'A', merchantId: 'N' }), isFull);
    await (await opened({ organizationId: 'B' })).return(undefined);
    await openImports[0]?.return(undefined);
    await (await opened(merchant)).return(undefined);
    for (const one of openImports) await one.return(undefined);
  });

  test('the process has an end of its own', async () => {
    const all: AsyncGenerator<string>[] = [];
    for (let one = 0; one < 16; one += 1) all.push(await opened({ organizationId: `${one}` }));
    await assert.rejects(opened({ organizationId: 'late' }), isFull);
    for (const one of all) await one.return(undefined);
    await (await opened({ organizationId: 'late' })).return(undefined);
  });

  test('of many chunks some are worked at, the others in the order in which they came', async () => {
    const begun: number[] = [];
    const ends: (() => void)[] = [];
    const chunks = Array.from({ length: 7 }, (_, number) =>
      concurrency.limitWorkingChunks(async () => {
        begun.push(number);
        await new Promise<void>((resolve) => ends.push(resolve));
        if (number === 1) throw new Error('one that fails makes room as well');
        return number;
      }),
    );
    const settled = Promise.allSettled(chunks);
    assert.deepEqual(begun, [0, 1, 2, 3]);
    while (ends.length > 0) {
      ends.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual(begun, [0, 1, 2, 3, 4, 5, 6]);
    const values = (await settled).map((one) =>
      one.status === 'fulfilled' ? one.value : 'failed',
    );
    assert.deepEqual(values, [0, 'failed', 2, 3, 4, 5, 6]);
    assert.equal(await concurrency.limitWorkingChunks(async () => 'again'), 'again');
  });
});
