// Opens a link with the adapter that its settings name.
import type { Clock, Log } from '../../platform/index.ts';
import type { Hsm } from '../../vault/index.ts';
import { connectHttpJson, type RequestSigners } from '../http-json/connect-http-json.ts';
import { connectIso8583Host } from '../iso8583-host/connect-iso8583-host.ts';
import type { LoadedHost } from '../iso8583-host/host-tables.ts';
import type { ClientCertificate, TlsIdentity } from '../keys/client-certificate-store.ts';
import type { ZoneKeys } from '../keys/zone-key-exchange.ts';
import type {
  AcquirerConnection,
  AcquirerLink,
  HttpJsonLink,
  Iso8583HostLink,
  LateResponse,
} from '../spi/acquirer-spi.ts';
import { InvalidLinkSettingError } from '../spi/invalid-link-setting.ts';

export type AdapterDeps = {
  link: AcquirerLink;
  timeoutMs: number;
  clock: Clock;
  log: Log;
  hsm?: Hsm | undefined;
  zoneKeys: ZoneKeys;
  requestSigners?: RequestSigners | undefined;
  findHost(link: Iso8583HostLink): LoadedHost;
  /** @throws LinkSettingFault */
  findCertificate(link: AcquirerLink, name: string): ClientCertificate;
  onLateResponse: (late: LateResponse) => void;
  onAvailabilityChange?: (available: boolean) => void;
};

/** @throws LinkSettingFault */
function findTlsIdentity(deps: AdapterDeps): TlsIdentity | undefined {
  const { settings } = deps.link;
  if (settings.clientCertificate === undefined) return undefined;
  return deps.findCertificate(deps.link, settings.clientCertificate).tlsIdentity;
}

function connectIso8583(deps: AdapterDeps, link: Iso8583HostLink): AcquirerConnection {
  const { host } = deps.findHost(link);
  const tlsIdentity = findTlsIdentity(deps);
  return connectIso8583Host({
    ...deps,
    link,
    compiledHost: host,
    tlsIdentity,
    keyRing: deps.zoneKeys.keyRingFor(link),
  });
}

function connectHttp(deps: AdapterDeps, link: HttpJsonLink): AcquirerConnection {
  const { organizationId, linkId, settings } = link;
  const { keyVersion } = settings;
  const signer = deps.requestSigners?.signerFor({ organizationId, linkId, keyVersion });
  if (signer === undefined) throw new Error('the server has no signing key for HTTP acquirers');
  return connectHttpJson({ ...deps, link, signer, tlsIdentity: findTlsIdentity(deps) });
}

/**
 * Rejects keys of other organisations and keys with another usage before they are used.
 *
 * @throws LinkSettingFault naming the key
 */
export function assertOwnKeys(hsm: Pick<Hsm, 'mayUse'> | undefined, link: AcquirerLink): void {
  const { macKey, zoneMasterKey } = link.adapter === 'iso8583-host' ? link.settings : {};
  const keySettings = [
    [link.settings.zonePinKey, 'ZonePin', '/zonePinKey/keyRef'],
    [macKey, 'Mac', '/macKey/keyRef'],
    [zoneMasterKey, 'KeyEncryption', '/zoneMasterKey/keyRef'],
  ] as const;
  for (const [key, usage, pointer] of keySettings) {
    if (key === undefined || hsm === undefined) continue;
    if (!hsm.mayUse(key.keyRef, usage, link.organizationId)) {
      throw new InvalidLinkSettingError(
        pointer,
        `names ${key.keyRef}, which is not a ${usage} key of this organisation`,
      );
    }
  }
}

/** Opens a link with the adapter that its settings name. */
export function connectAcquirer(deps: AdapterDeps): AcquirerConnection {
  const { link } = deps;
  assertOwnKeys(deps.hsm, link);
  switch (link.adapter) {
    case 'iso8583-host':
      return connectIso8583(deps, link);
    case 'http-json':
      return connectHttp(deps, link);
  }
}
