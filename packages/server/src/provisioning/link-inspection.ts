// Tells at once what of an acquirer link cannot be used: keys and certificates, where a process knows them.
import type { AcquirerLink } from '@switchyard/contract';
import { refuseFields } from './errors.ts';
import type { Resource } from './resource.ts';
import type { Input } from './resource-kind.ts';

/** What of a link names things that lie elsewhere. */
export type LinkNames = {
  readonly dialect?: string | undefined;
  readonly zonePinKey?: { keyRef: string; format: 'ISO0' | 'ISO3' | 'ISO4' };
  readonly macKey?: { keyRef: string };
  readonly zoneMasterKey?: { keyRef: string };
  readonly clientCertificate?: string;
};

/** The faults that are certain; what cannot be known now, such as of a module that is away, is none. */
export type LinkInspection = (
  organizationId: string,
  names: LinkNames,
) => Promise<readonly { pointer: string; detail: string }[]>;

/** The same members in another order are the same. */
const textOf = (value: unknown): string =>
  JSON.stringify(
    typeof value === 'object' && value !== null ? Object.entries(value).sort() : value,
  );

const members = ['zonePinKey', 'macKey', 'zoneMasterKey', 'clientCertificate'] as const;

/**
 * What a change names anew: a link whose key is gone since can still be renamed or moved, and its
 * state tells of the key. A link that is not enabled may wait for its keys.
 */
function namedAnew(input: Input, before: AcquirerLink | undefined): LinkNames | undefined {
  if (input['status'] === 'Disabled') return undefined;
  const standing: Input = before?.status === 'Enabled' ? before : {};
  // Left out it is the standard one, which makes no codes of authentication.
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

/** Refuses what cannot be used before anything is written; `createOnce` is for the platform's own. */
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
