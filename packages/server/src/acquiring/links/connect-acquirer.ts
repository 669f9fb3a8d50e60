// Opens a link with the adapter that its settings name.
import type { Hsm } from '../../vault/index.ts';
import { connectHttpJson } from '../http-json/connect-http-json.ts';
import type { RequestSigners } from '../http-json/signed-exchange.ts';
import { connectIso8583Host } from '../iso8583-host/connect-iso8583-host.ts';
import type { HostTables } from '../iso8583-host/load-dialect-tables.ts';
import type { ZoneKeys } from '../keys/import-zone-keys.ts';
import type { ClientCertificate, ClientCertificates } from '../keys/load-client-certificates.ts';
import {
  type AcquirerConnection,
  type AcquirerLink,
  type ConnectionPorts,
  InvalidLinkSettingError,
} from '../spi/acquirer-spi.ts';
import { assertOwnKeys } from './check-link-keys-and-certificate.ts';

/** Keys, certificates and host tables that the settings of a link name. */
export type LinkResources = {
  hostTables: HostTables;
  clientCertificates: ClientCertificates;
  zoneKeys: ZoneKeys;
  /** Without signers, `http-json` links cannot be opened. */
  requestSigners?: RequestSigners | undefined;
  /** Without an HSM, links have no MAC and no online PIN. */
  hsm?: Hsm | undefined;
};

const defaultDialect = 'iso1987-binary';

/** @throws InvalidLinkSettingError for an invalid certificate */
export const findCertificate = (
  clientCertificates: ClientCertificates,
  { organizationId, settings: { clientCertificate: name } }: AcquirerLink,
): ClientCertificate | undefined =>
  name === undefined ? undefined : clientCertificates.find(organizationId, name);

/** @throws Error if the link cannot be opened with its settings */
export function connectAcquirer(
  link: AcquirerLink,
  resources: LinkResources,
  ports: ConnectionPorts,
): AcquirerConnection {
  const { hsm, hostTables, zoneKeys, requestSigners } = resources;
  assertOwnKeys(hsm, link);
  const { tlsIdentity } = findCertificate(resources.clientCertificates, link) ?? {};
  const common = { ...ports, tlsIdentity };
  if (link.adapter === 'iso8583-host') {
    const { dialect = defaultDialect } = link.settings;
    const compiledHost = hostTables.find(dialect)?.host;
    if (compiledHost === undefined)
      throw new InvalidLinkSettingError(
        '/dialect',
        `names the dialect ${dialect}, whose table is missing or invalid`,
      );
    const keyRing = zoneKeys.keyRingFor(link);
    return connectIso8583Host({ ...common, link, compiledHost, hsm, keyRing });
  }
  const signer = requestSigners?.signerFor({ ...link, ...link.settings });
  if (signer === undefined) throw new Error('the server has no signing key for HTTP acquirers');
  return connectHttpJson({ ...common, link, signer });
}
