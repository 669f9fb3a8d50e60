/** Writes new secrets, which the server returns only once, to a file that only its owner can read. */

import { closeSync, fchmodSync, fstatSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { defined } from '@switchyard/contract';
import { describeFileError, fail } from '../runtime/command-error.ts';
import type { Plan } from './compare-estates.ts';
import { plansOf } from './compare-estates.ts';
import type { Resource } from './estate-model.ts';

export type SecretsFile = {
  /** Writes the secret to disk at once: if the process ends before, the secret is lost. */
  save(resource: string, response: Readonly<Record<string, unknown>>): void;
  count(): number;
  close(): void;
};

const secretNames = ['clientSecret', 'signingSecret'];
const ownerOnly = 0o600;

/** The resources of a plan for which the server will create a secret. */
export function resourcesWithSecrets(plan: Plan): Resource[] {
  return [...plansOf(plan)].flatMap(({ changes }) =>
    changes
      .filter(({ action, resource: { kind, members } }) => {
        if (action !== 'create') return false;
        return (
          kind === 'pointOfSale' ||
          kind === 'service' ||
          (kind === 'application' && members['clientType'] !== 'Public')
        );
      })
      .map(({ resource }) => resource),
  );
}

/** Appends one JSON line for each secret; creates the file if needed. */
export function openSecretsFile(
  file: string | undefined,
  show: ((line: string) => void) | undefined,
): SecretsFile {
  let written = 0;
  const descriptor = file === undefined ? undefined : openFile(file);
  return {
    save(resource, response) {
      const secretMembers = secretNames.filter((name) => typeof response[name] === 'string');
      if (secretMembers.length === 0) return;
      const { clientId } = response;
      const line = JSON.stringify({
        resource,
        ...defined({ clientId }),
        ...Object.fromEntries(secretMembers.map((name) => [name, response[name]])),
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
    const descriptor = openSync(file, 'a', ownerOnly);
    // A file that exists can be readable by other accounts.
    if (fstatSync(descriptor).isFile()) fchmodSync(descriptor, ownerOnly);
    return descriptor;
  } catch (error) {
    return fail('usage', `${file} cannot be written: ${describeFileError(error)}.`);
  }
}
