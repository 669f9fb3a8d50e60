// Opens a link in the way of its adapter.
import type { Clock, Log } from '../platform/index.ts';
import type { Hsm } from '../vault/index.ts';
import type { KnownHost } from './hosts.ts';
import { connectHttpJson, type LinkSigners } from './http-json/index.ts';
import { connectIso8583Host } from './iso8583-host/index.ts';
import type { LinkKeys } from './received-keys.ts';
import type {
  AcquirerConnection,
  AcquirerLink,
  HttpJsonLink,
  Iso8583HostLink,
  LateAnswer,
} from './types.ts';

export type AdapterDeps = {
  link: AcquirerLink;
  timeoutMs: number;
  clock: Clock;
  log: Log;
  hsm?: Hsm | undefined;
  keys: LinkKeys;
  signers?: LinkSigners | undefined;
  findHost(link: Iso8583HostLink): KnownHost;
  onLateAnswer: (late: LateAnswer) => void;
  onState?: (available: boolean) => void;
};

function connectHost(deps: AdapterDeps, link: Iso8583HostLink): AcquirerConnection {
  const { host } = deps.findHost(link);
  return connectIso8583Host({ ...deps, link, host, keys: deps.keys.ring(link) });
}

function connectHttp(deps: AdapterDeps, link: HttpJsonLink): AcquirerConnection {
  const { organizationId, linkId, settings } = link;
  const { keyVersion } = settings;
  const signer = deps.signers?.signer({ organizationId, linkId, keyVersion });
  if (signer === undefined) throw new Error('there is no key to sign with');
  return connectHttpJson({ ...deps, link, signer });
}

/**
 * A key that is kept for other organisations, or for another purpose, is not even tried.
 *
 * @throws Error naming the key
 */
export function demandOwnKeys(hsm: Pick<Hsm, 'mayUse'> | undefined, link: AcquirerLink): void {
  const { macKey, zoneMasterKey } = link.adapter === 'iso8583-host' ? link.settings : {};
  const named = [
    [link.settings.zonePinKey, 'ZonePin'],
    [macKey, 'Mac'],
    [zoneMasterKey, 'KeyEncryption'],
  ] as const;
  for (const [key, usage] of named) {
    if (key === undefined || hsm === undefined) continue;
    if (!hsm.mayUse(key.keyRef, usage, link.organizationId)) {
      throw new Error(`${key.keyRef} is no ${usage} key of this organisation`);
    }
  }
}

/** Opens a link in the way of its adapter. */
export function connectAcquirer(deps: AdapterDeps): AcquirerConnection {
  const { link } = deps;
  demandOwnKeys(deps.hsm, link);
  switch (link.adapter) {
    case 'iso8583-host':
      return connectHost(deps, link);
    case 'http-json':
      return connectHttp(deps, link);
  }
}
