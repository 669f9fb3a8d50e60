import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readBenchOptions, UsageError } from './bench-options.ts';

describe('the options of the bench', () => {
  test('have defaults, and a seed of their own', () => {
    const options = readBenchOptions(['sales'], 77);
    assert.equal(options?.name, 'sales');
    assert.equal(options?.terminals, 512);
    assert.equal(options?.seed, 77);
    assert.equal(options?.starts, true);
  });

  test('are taken as given', () => {
    const options = readBenchOptions(
      ['status', '--rows=10000000', '--minutes', '10', '--no-starts', '--json', '--seed', '5'],
      77,
    );
    assert.deepEqual(
      [options?.name, options?.rows, options?.minutes, options?.starts, options?.json],
      ['status', 10_000_000, 10, false, true],
    );
    assert.equal(options?.seed, 5);
  });

  test('of tokens name their parts', () => {
    const all = readBenchOptions(['tokens'], 77);
    assert.ok(all?.parts.includes('refresh') && all.realms === 2000);
    const some = readBenchOptions(['tokens', '--parts', 'password,mtls', '--realms', '0'], 77);
    assert.deepEqual([some?.parts, some?.realms], [['password', 'mtls'], 0]);
  });

  test('of an estate say how large it is', () => {
    const all = readBenchOptions(['estate'], 77);
    assert.deepEqual([all?.devices, all?.organizations, all?.rate], [1_000_000, 2000, 200]);
    const some = readBenchOptions(['estate', '--devices', '5000', '--organisations=20'], 77);
    assert.deepEqual([some?.devices, some?.organizations], [5000, 20]);
  });

  test('help is no run', () => {
    assert.equal(readBenchOptions(['--help'], 1), undefined);
  });

  for (const args of [
    [],
    ['sale'],
    ['sales', 'status'],
    ['sales', '--rows', '-1'],
    ['sales', '--seconds', '0'],
    ['sales', '--seconds', '1.5'],
    ['sales', '--wrong'],
    ['tokens', '--parts', 'gold'],
    ['estate', '--devices', '3'],
  ]) {
    test(`“${args.join(' ')}” is refused`, () => {
      assert.throws(() => readBenchOptions(args, 1), UsageError);
    });
  }
});
