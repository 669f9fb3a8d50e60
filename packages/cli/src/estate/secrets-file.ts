/** Where new secrets go: told once by the server, written once to a file for its owner alone. */

import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { defined } from '@switchyard/contract';
import { fail } from '../runtime/command-error.ts';
import type { Plan } from './compare-estates.ts';
import { plansOf } from './compare-estates.ts';
import { nameOf, type Thing } from './estate-model.ts';

export type Secrets = {
  /** At once: what is not written when the process dies is lost for ever. */
  keep(thing: Thing, told: Readonly<Record<string, unknown>>): void;
  count(): number;
  close(): void;
};

const secretNames = ['clientSecret', 'signingSecret'];
const ownerOnly = 0o600;

/** The things of a plan that the server will tell a secret of. */
export function secretive(plan: Plan): Thing[] {
  return [...plansOf(plan)].flatMap(({ changes }) =>
    changes
      .filter(({ action, thing: { kind, members } }) => {
        if (action !== 'create') return false;
        return (
          kind === 'pointOfSale' ||
          kind === 'service' ||
          (kind === 'application' && members['clientType'] !== 'Public')
        );
      })
      .map(({ thing }) => thing),
  );
}

/** One line of JSON for each; the file is made if it is not there, and never shortened. */
export function openSecrets(
  file: string | undefined,
  show: ((line: string) => void) | undefined,
): Secrets {
  let written = 0;
  const descriptor = file === undefined ? undefined : openFile(file);
  return {
    keep(thing, told) {
      const found = secretNames.filter((name) => typeof told[name] === 'string');
      if (found.length === 0) return;
      const { clientId } = told;
      const line = JSON.stringify({
        thing: nameOf(thing),
        ...defined({ clientId }),
        ...Object.fromEntries(found.map((name) => [name, told[name]])),
      });
      written += 1;
      show?.(line);
      if (descriptor === undefined) return;
      writeSync(descriptor, `${line}\n`);
      fsyncSync(descriptor);
    },
    count: () => written,
    close() {
      if (descriptor !== undefined) closeSync(descriptor);
    },
  };
}

function openFile(file: string): number {
  try {
    // A new one is for its owner alone from the first moment.
    return openSync(file, 'a', ownerOnly);
  } catch (error) {
    return fail('usage', `${file} cannot be written: ${(error as NodeJS.ErrnoException).code}.`);
  }
}
