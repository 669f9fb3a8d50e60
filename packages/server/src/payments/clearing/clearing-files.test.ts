// Due clearing files of known, removed and temporarily unreadable links.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '@switchyard/contract';
import { createClearingFiles, type FilesDeps } from './clearing-files.ts';

/** An organisation with due lines on each link. */
function setUp(institutionOf: (linkId: string) => string | undefined, ...linkIds: string[]) {
  const made: string[] = [];
  const logged: string[] = [];
  const deps = {
    clock: { now: () => 0 },
    ids: { uuid: () => 'file' },
    log: {
      warn: ({ linkId }: { linkId: string }) => void logged.push(`warn ${linkId}`),
      error: ({ linkId }: { linkId: string }) => void logged.push(`error ${linkId}`),
    },
    provisioning: { institutionOf: async (_: string, linkId: string) => institutionOf(linkId) },
    clearing: {
      findLinksWithDueLines: async () => linkIds.map((linkId) => ({ organizationId: 'o', linkId })),
      async createFile({ linkId, institutionId }: { linkId: string; institutionId: string }) {
        made.push(`${linkId} ${institutionId}`);
        return true;
      },
    },
  } as unknown as FilesDeps;
  return { files: createClearingFiles(deps), made, logged };
}

test('a failed file does not block other files and is logged as an error', async () => {
  const { files, made, logged } = setUp(
    (linkId) => (linkId === 'lost' ? undefined : '123456'),
    'lost',
    'known',
  );
  assert.equal(await files.makeDue(), 1);
  assert.deepEqual(made, ['known 123456']);
  assert.deepEqual(logged, ['error lost']);
});

test('a transient error is logged as a warning', async () => {
  const away = new Refusal('database_unavailable', 'It restarts.');
  const { files, logged } = setUp(() => {
    throw away;
  }, 'any');
  assert.equal(await files.makeDue(), 0);
  assert.deepEqual(logged, ['warn any']);
});
