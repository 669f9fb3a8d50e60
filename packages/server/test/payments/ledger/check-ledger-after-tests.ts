// Scenes whose books must agree at the end of a file.
import assert from 'node:assert/strict';
import { type Scene, scene } from '../../support/test-merchant.ts';
import { assertAgreement } from './ledger-invariants.ts';

/** A maker of scenes that remembers them, so that a file can end with all of them in agreement. */
export function bookkeeping() {
  const made: Scene[] = [];
  return {
    scene: async (...of: Parameters<typeof scene>): Promise<Scene> => {
      const on = await scene(...of);
      made.push(on);
      return on;
    },
    /** As the last test of a file: hooks come when the house is closed already. */
    agree: async (): Promise<void> => {
      assert.ok(made.length > 0);
      await Promise.all(made.map((on) => assertAgreement(on)));
    },
  };
}
