// Checks the keys and certificates that an acquirer link names before the server stores it.
import type { AcquirerLink } from '@switchyard/contract';
import { throwFieldProblems } from '../resources/provisioning-errors.ts';
import type { ResourceInput } from '../resources/resource-definition.ts';
import type { ResourceOperations } from '../resources/resource-operations.ts';

/** The members of a link that name keys and certificates stored elsewhere. */
export type LinkKeyNames = {
  readonly dialect?: string | undefined;
  readonly zonePinKey?: { keyRef: string; format: 'ISO0' | 'ISO3' | 'ISO4' };
  readonly macKey?: { keyRef: string };
  readonly zoneMasterKey?: { keyRef: string };
  readonly clientCertificate?: string;
};

/** Returns only certain faults; an unreachable security module is no fault of the link. */
export type CheckLinkKeys = (
  organizationId: string,
  names: LinkKeyNames,
) => Promise<readonly { pointer: string; detail: string }[]>;

/** The order of the members does not matter. */
const canonicalText = (value: unknown): string =>
  JSON.stringify(
    typeof value === 'object' && value !== null ? Object.entries(value).sort() : value,
  );

const keyMembers = ['zonePinKey', 'macKey', 'zoneMasterKey', 'clientCertificate'] as const;

/**
 * Checks only names that a change adds. A link whose key was deleted since can still be renamed or
 * moved, and its state reports the missing key. A disabled link may name keys that do not exist
 * yet.
 */
function findNewKeyNames(
  input: ResourceInput,
  before: AcquirerLink | undefined,
): LinkKeyNames | undefined {
  if (input['status'] === 'Disabled') return undefined;
  const current: ResourceInput = before?.status === 'Enabled' ? before : {};
  // Without a dialect the default one applies, which uses no MAC.
  const hasNewDialect = input['dialect'] !== undefined && input['dialect'] !== current['dialect'];
  const newMembers = keyMembers.filter((name) => {
    if (input[name] === undefined) return false;
    if (name === 'macKey' && hasNewDialect) return true;
    return canonicalText(input[name]) !== canonicalText(current[name] ?? null);
  });
  if (newMembers.length === 0) return undefined;
  const names = Object.fromEntries(
    ['dialect' as const, ...newMembers].map((name) => [name, input[name]]),
  );
  return names as LinkKeyNames;
}

/**
 * Refuses unusable names before a write; `createIfNew` is only for the platform, and is not checked.
 */
export function withKeyCheck(
  links: ResourceOperations<AcquirerLink>,
  checkKeys: CheckLinkKeys,
): ResourceOperations<AcquirerLink> {
  async function requireUsableKeys(organizationId: string, names: LinkKeyNames | undefined) {
    if (names === undefined) return;
    const faults = await checkKeys(organizationId, names);
    if (faults.length > 0) throwFieldProblems(faults);
  }
  return {
    ...links,
    async create(scope, input, id) {
      await requireUsableKeys(scope.organizationId, findNewKeyNames(input, undefined));
      return links.create(scope, input, id);
    },
    async replace(scope, id, input, ifMatch) {
      const { view } = await links.get(scope, id);
      await requireUsableKeys(view.organizationId, findNewKeyNames(input, view));
      return links.replace(scope, id, input, ifMatch);
    },
  };
}
