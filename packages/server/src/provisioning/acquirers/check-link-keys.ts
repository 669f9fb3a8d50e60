// Checks the keys and certificates that an acquirer link names before the server stores it.
import type { AcquirerLink } from '@switchyard/contract';
import { refuseFields } from '../resources/provisioning-errors.ts';
import type { Input } from '../resources/resource-definition.ts';
import type { Resource } from '../resources/resource-operations.ts';

/** The members of a link that name keys and certificates stored elsewhere. */
export type LinkNames = {
  readonly dialect?: string | undefined;
  readonly zonePinKey?: { keyRef: string; format: 'ISO0' | 'ISO3' | 'ISO4' };
  readonly macKey?: { keyRef: string };
  readonly zoneMasterKey?: { keyRef: string };
  readonly clientCertificate?: string;
};

/** Returns only certain faults; an unreachable security module is no fault of the link. */
export type LinkInspection = (
  organizationId: string,
  names: LinkNames,
) => Promise<readonly { pointer: string; detail: string }[]>;

/** The order of the members does not matter. */
const textOf = (value: unknown): string =>
  JSON.stringify(
    typeof value === 'object' && value !== null ? Object.entries(value).sort() : value,
  );

const members = ['zonePinKey', 'macKey', 'zoneMasterKey', 'clientCertificate'] as const;

/**
 * Checks only names that a change adds. A link whose key was deleted since can still be renamed or
 * moved, and its state reports the missing key. A disabled link may name keys that do not exist
 * yet.
 */
function namedAnew(input: Input, before: AcquirerLink | undefined): LinkNames | undefined {
  if (input['status'] === 'Disabled') return undefined;
  const standing: Input = before?.status === 'Enabled' ? before : {};
  // Without a dialect the default one applies, which uses no MAC.
  const speaksAnew = input['dialect'] !== undefined && input['dialect'] !== standing['dialect'];
  const anew = members.filter((name) => {
    if (input[name] === undefined) return false;
    if (name === 'macKey' && speaksAnew) return true;
    return textOf(input[name]) !== textOf(standing[name] ?? null);
  });
  if (anew.length === 0) return undefined;
  const named = Object.fromEntries(
    ['dialect' as const, ...anew].map((name) => [name, input[name]]),
  );
  return named as LinkNames;
}

/**
 * Refuses unusable names before a write; `createOnce` is only for the platform, and is not checked.
 */
export function withInspection(
  links: Resource<AcquirerLink>,
  inspect: LinkInspection,
): Resource<AcquirerLink> {
  async function demandUsable(organizationId: string, names: LinkNames | undefined) {
    if (names === undefined) return;
    const faults = await inspect(organizationId, names);
    if (faults.length > 0) refuseFields(faults);
  }
  return {
    ...links,
    async create(scope, input, id) {
      await demandUsable(scope.organizationId, namedAnew(input, undefined));
      return links.create(scope, input, id);
    },
    async replace(scope, id, input, ifMatch) {
      const { view } = await links.get(scope, id);
      await demandUsable(view.organizationId, namedAnew(input, view));
      return links.replace(scope, id, input, ifMatch);
    },
  };
}
