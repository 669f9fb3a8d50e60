// Opens a link with the adapter that its settings name.
import type { Clock, Log } from '../../platform/index.ts';
import type { Hsm } from '../../vault/index.ts';
import { connectHttpJson, type LinkSigners } from '../http-json/connect-http-json.ts';
import { connectIso8583Host } from '../iso8583-host/connect-iso8583-host.ts';
import type { KnownHost } from '../iso8583-host/host-tables.ts';
import type { ClientCertificate, TlsIdentity } from '../keys/client-certificate-store.ts';
import type { LinkKeys } from '../keys/zone-key-exchange.ts';
import type {
  AcquirerConnection,
  AcquirerLink,
  HttpJsonLink,
  Iso8583HostLink,
  LateAnswer,
} from '../spi/acquirer-spi.ts';
import { LinkSettingFault } from '../spi/invalid-link-setting.ts';

export type AdapterDeps = {
  link: AcquirerLink;
  timeoutMs: number;
  clock: Clock;
  log: Log;
  hsm?: Hsm | undefined;
  keys: LinkKeys;
  signers?: LinkSigners | undefined;
  findHost(link: Iso8583HostLink): KnownHost;
  /** @throws LinkSettingFault */
  findCertificate(link: AcquirerLink, name: string): ClientCertificate;
  onLateAnswer: (late: LateAnswer) => void;
  onState?: (available: boolean) => void;
};

/** @throws LinkSettingFault */
function identityOf(deps: AdapterDeps): TlsIdentity | undefined {
  const { settings } = deps.link;
  if (settings.clientCertificate === undefined) return undefined;
  return deps.findCertificate(deps.link, settings.clientCertificate).identity;
}

function connectHost(deps: AdapterDeps, link: Iso8583HostLink): AcquirerConnection {
  const { host } = deps.findHost(link);
  const identity = identityOf(deps);
  return connectIso8583Host({ ...deps, link, host, identity, keys: deps.keys.ring(link) });
}

function connectHttp(deps: AdapterDeps, link: HttpJsonLink): AcquirerConnection {
  const { organizationId, linkId, settings } = link;
  const { keyVersion } = settings;
  const signer = deps.signers?.signer({ organizationId, linkId, keyVersion });
  if (signer === undefined) throw new Error('the server has no signing key for HTTP acquirers');
  return connectHttpJson({ ...deps, link, signer, identity: identityOf(deps) });
}

/**
 * Rejects keys of other organisations and keys with another usage before they are used.
 *
 * @throws LinkSettingFault naming the key
 */
export function demandOwnKeys(hsm: Pick<Hsm, 'mayUse'> | undefined, link: AcquirerLink): void {
  const { macKey, zoneMasterKey } = link.adapter === 'iso8583-host' ? link.settings : {};
  const named = [
    [link.settings.zonePinKey, 'ZonePin', '/zonePinKey/keyRef'],
    [macKey, 'Mac', '/macKey/keyRef'],
    [zoneMasterKey, 'KeyEncryption', '/zoneMasterKey/keyRef'],
  ] as const;
  for (const [key, usage, pointer] of named) {
    if (key === undefined || hsm === undefined) continue;
    if (!hsm.mayUse(key.keyRef, usage, link.organizationId)) {
      throw new LinkSettingFault(
        pointer,
        `names ${key.keyRef}, which is not a ${usage} key of this organisation`,
      );
    }
  }
}

/** Opens a link with the adapter that its settings name. */
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
