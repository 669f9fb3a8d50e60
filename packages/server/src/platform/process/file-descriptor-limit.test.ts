// File descriptor limit: a warning if it is too low for the connections, and an error in production.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SettingsError } from '../settings/settings.ts';
import { checkFileDescriptorLimit, parseFileDescriptorLimit } from './file-descriptor-limit.ts';

const table = (
  soft: string,
) => `Limit                     Soft Limit           Hard Limit           Units
Max processes             63432                63432                processes
Max open files            ${soft.padEnd(21)}20000                files
Max locked memory         8388608              8388608              bytes
`;

const limitSettings = (environment: 'demo' | 'production', roles: string[] = ['connector']) => ({
  environment,
  connectorConnections: 9000,
  roles: new Set(roles) as never,
});

function warningsFor(
  ...of: [Parameters<typeof checkFileDescriptorLimit>[0], number | undefined]
): string[] {
  const lines: string[] = [];
  const log = { warn: (_facts: object, text: string) => void lines.push(text) };
  checkFileDescriptorLimit(of[0], log as never, of[1]);
  return lines;
}

test('the limit is parsed from /proc/self/limits', () => {
  assert.equal(parseFileDescriptorLimit(table('1024')), 1024);
  assert.equal(parseFileDescriptorLimit(table('unlimited')), Number.POSITIVE_INFINITY);
  assert.equal(parseFileDescriptorLimit(''), undefined);
});

test('a limit below the connector’s connections is logged, with the remedy', () => {
  const [line = ''] = warningsFor(limitSettings('demo'), 1024);
  assert.match(line, /limit is 1024, but .*CONNECTIONS=9000 needs 10000.*LimitNOFILE/);
  assert.deepEqual(warningsFor(limitSettings('demo'), 10_000), []);
  assert.deepEqual(warningsFor(limitSettings('demo', ['cards']), 100), []);
  assert.deepEqual(warningsFor(limitSettings('demo'), Number.POSITIVE_INFINITY), []);
});

test('production does not start with too low a limit', () => {
  assert.throws(() => warningsFor(limitSettings('production'), 9999), SettingsError);
  assert.deepEqual(warningsFor(limitSettings('production'), 10_000), []);
});

test('the limit of this process can be read', {
  skip: process.platform !== 'linux',
}, () => {
  const lines: string[] = [];
  const log = { warn: (_facts: object, text: string) => void lines.push(text) };
  checkFileDescriptorLimit(
    { ...limitSettings('demo'), connectorConnections: 2 ** 40 },
    log as never,
  );
  assert.equal(lines.length, 1);
});
