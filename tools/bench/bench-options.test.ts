import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { UsageError } from '../parse-options.ts';
import { readBenchOptions } from './bench-options.ts';

describe('bench options', () => {
  test('the options have defaults, and a new seed', () => {
    const options = readBenchOptions(['sales'], 77);
    assert.equal(options?.name, 'sales');
    assert.equal(options?.terminals, 512);
    assert.equal(options?.seed, 77);
    assert.equal(options?.starts, true);
  });

  test('given options are used', () => {
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

  test('the options of the token bench name its cases', () => {
    const all = readBenchOptions(['tokens'], 77);
    assert.ok(all?.tokenParts.includes('refresh') && all.realms === 2000);
    const some = readBenchOptions(['tokens', '--parts', 'password,mtls', '--realms', '0'], 77);
    assert.deepEqual([some?.tokenParts, some?.realms], [['password', 'mtls'], 0]);
  });

  test('the options of the estate bench set its size', () => {
    const all = readBenchOptions(['estate'], 77);
    assert.deepEqual([all?.devices, all?.organizations, all?.rate], [1_000_000, 2000, 200]);
    const some = readBenchOptions(['estate', '--devices', '5000', '--organisations=20'], 77);
    assert.deepEqual([some?.devices, some?.organizations], [5000, 20]);
  });

  test('the options of the relay bench select its parts and the messages', () => {
    const all = readBenchOptions(['relay'], 77);
    assert.deepEqual(all?.relayParts, ['idle', 'restart', 'tls', 'flood', 'plain']);
    const some = readBenchOptions(['relay', '--parts', 'plain', '--pairs=50', '--bytes=512'], 77);
    assert.deepEqual([some?.relayParts, some?.pairs, some?.bytes], [['plain'], 50, 512]);
  });

  test('--help runs no bench', () => {
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
    ['relay', '--parts', 'password'],
    ['estate', '--devices', '3'],
  ]) {
    test(`“${args.join(' ')}” is refused`, () => {
      assert.throws(() => readBenchOptions(args, 1), UsageError);
    });
  }
});
