// Due files of links that exist, were removed, or cannot be read for a moment.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProblemError } from '@switchyard/contract';
import { unguardedNumbering } from '../../platform/index.ts';
import { createDueFiles } from './clearing-files.ts';

/** Ports of an organisation with due lines of each link. */
function portsOf(institutionOf: (linkId: string) => string | undefined, ...linkIds: string[]) {
  const created: string[] = [];
  const logged: string[] = [];
  const logTo = (level: string) => (fields: object) =>
    void logged.push(`${level} ${(fields as { linkId: string }).linkId}`);
  const ports: Parameters<typeof createDueFiles>[0] = {
    clock: { now: () => 0 },
    ids: { uuid: () => 'file' },
    numbering: unguardedNumbering,
    log: { warn: logTo('warn'), error: logTo('error') },
    provisioning: { findInstitutionId: async (_, linkId) => institutionOf(linkId) },
    clearing: {
      findLinksWithDueLines: async () => linkIds.map((linkId) => ({ organizationId: 'o', linkId })),
      async createFile({ linkId, institutionId }) {
        created.push(`${linkId} ${institutionId}`);
        return true;
      },
    },
  };
  return { ports, created, logged };
}

test('a failed file does not block other files and is logged as an error', async () => {
  const { ports, created, logged } = portsOf(
    (linkId) => (linkId === 'removed' ? undefined : '123456'),
    'removed',
    'known',
  );
  assert.equal(await createDueFiles(ports), 1);
  assert.deepEqual(created, ['known 123456']);
  assert.deepEqual(logged, ['error removed']);
});

test('a transient error is logged as a warning', async () => {
  const { ports, logged } = portsOf(() => {
    throw new ProblemError('database_unavailable', 'The database restarts.');
  }, 'any');
  assert.equal(await createDueFiles(ports), 0);
  assert.deepEqual(logged, ['warn any']);
});
