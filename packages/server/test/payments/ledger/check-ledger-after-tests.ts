// Records scenes whose ledgers must agree with the host at the end of a test file.
import assert from 'node:assert/strict';
import { createTestOrganization, type TestOrganization } from '../../support/test-organization.ts';
import { assertAgreement } from './ledger-invariants.ts';

/** Creates scenes and records them, so that a file can end with a check of all of them. */
export function bookkeeping() {
  const made: TestOrganization[] = [];
  return {
    scene: async (...of: Parameters<typeof createTestOrganization>): Promise<TestOrganization> => {
      const on = await createTestOrganization(...of);
      made.push(on);
      return on;
    },
    /** Runs as the last test of a file, because hooks run after the platform is closed. */
    agree: async (): Promise<void> => {
      assert.ok(made.length > 0);
      await Promise.all(made.map((on) => assertAgreement(on)));
    },
  };
}
