// Records organisations whose ledgers must agree with the host at the end of a test file.
import assert from 'node:assert/strict';
import { createTestOrganization, type TestOrganization } from '../../support/test-organization.ts';
import { assertAgreement } from './ledger-invariants.ts';

/** Creates organisations and records them, so that a file can end with a check of all of them. */
export function trackLedgers() {
  const organizations: TestOrganization[] = [];
  return {
    createOrganization: async (
      ...options: Parameters<typeof createTestOrganization>
    ): Promise<TestOrganization> => {
      const organization = await createTestOrganization(...options);
      organizations.push(organization);
      return organization;
    },
    /** Runs as the last test of a file, because hooks run after the platform is closed. */
    assertLedgersAgree: async (): Promise<void> => {
      assert.ok(organizations.length > 0);
      await Promise.all(organizations.map((organization) => assertAgreement(organization)));
    },
  };
}
