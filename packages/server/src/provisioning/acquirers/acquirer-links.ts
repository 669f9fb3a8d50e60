// Acquirer links: the network address and the protocol settings of an acquirer.
import type { AcquirerLink } from '@switchyard/contract';
import { builtInHostNames } from '@switchyard/iso8583';
import { type AddressGuard, isLoopbackHost } from '../../platform/index.ts';
import { holdOrganization } from '../organizations/organization-tree.ts';
import type { Scope } from '../resources/caller-scope.ts';
import { refuseField } from '../resources/provisioning-errors.ts';
import type { Input, Kind } from '../resources/resource-definition.ts';
import { createResource, type Deps, type Resource } from '../resources/resource-operations.ts';
import type { Row, Run } from '../resources/resource-sql.ts';
import { commonMembers, viewOf } from '../resources/resource-view.ts';
import { acquirerContracts, acquirerLinks } from '../resources/tables.ts';
import { type LinkInspection, withInspection } from './check-link-keys.ts';
import { httpColumn, httpMembers, isHttp, type LinkSigningKeys } from './http-link-settings.ts';

/** The properties of a host's message dialect that a link depends on. */
export type Dialect = {
  readonly name: string;
  /** The length of a PIN block in bytes: 8, or 16 for format 4; 0 if the host accepts no PIN. */
  readonly pinBytes: number;
  /** Messages carry a MAC. */
  readonly needsMac: boolean;
};

const defaultDialect = 'iso1987-binary';

export const builtInDialects: readonly Dialect[] = builtInHostNames.map((name) => ({
  name,
  pinBytes: 8,
  needsMac: false,
}));

const pinBytesOf = { ISO0: 8, ISO3: 8, ISO4: 16 } as const;

/** An early check: otherwise every sale over the link fails when the server writes its message. */
function checkKeys(input: Input, { name, pinBytes, needsMac }: Dialect): void {
  const pin = input['zonePinKey'] as { format: keyof typeof pinBytesOf } | undefined;
  if (pin !== undefined && pinBytesOf[pin.format] !== pinBytes) {
    refuseField('/zonePinKey/format', `is not what ${name} takes: ${pinBytes} bytes in field 52`);
  }
  if (needsMac && input['macKey'] === undefined && input['zoneMasterKey'] === undefined) {
    refuseField('/macKey', `is needed by ${name}, or a zoneMasterKey under which it comes`);
  }
}

/** Stores the key names as sent; only the security module and the acquirer know the keys. */
function hostColumns(input: Input, dialects: readonly Dialect[]): Row {
  const name = String(input['dialect'] ?? defaultDialect);
  const dialect = dialects.find((each) => each.name === name);
  if (dialect === undefined) {
    return refuseField('/dialect', `is none of ${dialects.map((each) => each.name).join(', ')}`);
  }
  if (input['httpJson'] === undefined) checkKeys(input, dialect);
  return {
    dialect: name,
    connections: input['connections'] ?? 1,
    tpdu: input['tpdu'] ?? null,
    zone_pin_key: input['zonePinKey'] ?? null,
    mac_key: input['macKey'] ?? null,
    zone_master_key: input['zoneMasterKey'] ?? null,
  };
}

const hostMembers = (row: Row) => ({
  dialect: row['dialect'],
  connections: row['connections'],
  tpdu: row['tpdu'],
  zonePinKey: row['zone_pin_key'],
  macKey: row['mac_key'],
  zoneMasterKey: row['zone_master_key'],
});

/**
 * An existing link may be renamed or disabled at its address, although the proxy is no longer
 * configured. A disabled link is checked like a new one: otherwise a client could create a disabled
 * link to any address and enable it later.
 */
const staysPut = (input: Input, current: Row | undefined): boolean =>
  current?.['tls'] === false &&
  current['host'] === input['host'] &&
  current['port'] === input['port'] &&
  (current['status'] === 'Enabled' || input['status'] === 'Disabled');

/** A link without TLS may lead only to a loopback host, and only to a configured proxy. */
function checkClear(input: Input, proxies: readonly string[] | undefined): void {
  const host = String(input['host']);
  if (!isLoopbackHost(host)) refuseField('/tls', 'may be false for a loopback host alone');
  if (proxies?.includes(`${host}:${input['port']}`) === false) {
    refuseField(
      '/tls',
      'may be false for a proxy alone that the operator of the platform has named',
    );
  }
}

/**
 * The host identifies earlier messages by the institution identifier (DE90) when the server
 * captures, reverses or refunds them. Removed contracts therefore count too.
 */
async function demandUnused(run: Run, link: Row): Promise<void> {
  const used = await run(
    'SELECT 1 FROM acquirer_contracts WHERE organization_id = $1 AND acquirer_link_id = $2 LIMIT 1',
    [link['organization_id'], link['acquirer_link_id']],
  );
  if (used.length === 0) return;
  refuseField('/institutionId', 'names what was sent over the link: make another link instead');
}

type Approval = AcquirerLink['approval'];

const leadsElsewhere = (input: Input, current: Row): boolean =>
  current['host'] !== input['host'] ||
  current['port'] !== input['port'] ||
  current['adapter'] !== (input['adapter'] ?? 'Iso8583Host');

/** @param approvalOfNew - the approval of a link that is new or leads to another host */
const kindWith = (
  { dialects, signingKeys, proxies }: LinkFacts,
  approvalOfNew: Approval,
): Kind<AcquirerLink> => ({
  table: acquirerLinks,
  notFound: 'resource_not_found',
  idMember: 'acquirerLinkId',
  filters: {},
  hold: (run, { organizationId }) => holdOrganization(run, organizationId),
  dependants: [{ type: 'AcquirerContract', table: acquirerContracts, column: 'acquirer_link_id' }],
  toView: (row) =>
    viewOf(row, {
      acquirerLinkId: row['acquirer_link_id'],
      ...commonMembers(row),
      adapter: row['adapter'],
      host: row['host'],
      port: row['port'],
      tls: row['tls'],
      clientCertificate: row['client_certificate'],
      institutionId: row['institution_id'],
      approval: row['approval'],
      ...(isHttp(row) ? httpMembers(row, signingKeys) : hostMembers(row)),
    }),
  async columns({ run }, _scope, input, current) {
    if (current !== undefined && current['institution_id'] !== input['institutionId']) {
      await demandUnused(run, current);
    }
    const tls = input['tls'] ?? true;
    if (tls !== true && !staysPut(input, current)) checkClear(input, proxies);
    const clientCertificate = input['clientCertificate'] ?? null;
    if (clientCertificate !== null && tls !== true) {
      refuseField('/clientCertificate', 'goes with tls');
    }
    return {
      adapter: input['adapter'] ?? 'Iso8583Host',
      host: input['host'],
      port: input['port'],
      tls,
      client_certificate: clientCertificate,
      institution_id: input['institutionId'],
      approval:
        current === undefined || leadsElsewhere(input, current)
          ? approvalOfNew
          : current['approval'],
      ...hostColumns(input, dialects()),
      http_json: httpColumn(input),
    };
  },
  readOnly: (row) => ({
    approval: row['approval'],
    ...(isHttp(row) ? { signingKeys: httpMembers(row, signingKeys).signingKeys } : {}),
  }),
});

export type LinkFacts = {
  /** The host dialects of this platform. */
  readonly dialects: () => readonly Dialect[];
  /** The allowed `host:port` targets of links without TLS; if absent, every loopback port. */
  readonly proxies?: readonly string[] | undefined;
  /** If absent, a link may lead to any host; for tests only. */
  readonly guard?: AddressGuard | undefined;
  /** True if new links of this organisation need no approval by the operator. */
  readonly isApprovedAtOnce: (organizationId: string) => Promise<boolean>;
  /** If absent, no link shows the signing keys of the platform. */
  readonly signingKeys?: LinkSigningKeys | undefined;
  /**
   * Absent if no process opens links or holds their keys; the state of the link then shows faults.
   */
  readonly inspect?: LinkInspection | undefined;
};

export function createAcquirerLinks(deps: Deps, facts: LinkFacts): Resource<AcquirerLink> {
  const approved = createResource(deps, kindWith(facts, 'Approved'));
  const pending = createResource(deps, kindWith(facts, 'PendingApproval'));
  // Without an author the platform itself creates the link, as in the demo.
  const chooseResource = async ({ author, organizationId }: Scope) =>
    author === undefined || (await facts.isApprovedAtOnce(organizationId)) ? approved : pending;

  async function demandAllowedHost({ host, port }: Input): Promise<void> {
    const fault = await facts.guard?.resolveHostFault(String(host), Number(port));
    if (fault !== undefined) refuseField('/host', fault);
  }

  const links: Resource<AcquirerLink> = {
    ...approved,
    async create(scope, input, id) {
      await demandAllowedHost(input);
      return (await chooseResource(scope)).create(scope, input, id);
    },
    async replace(scope, id, input, ifMatch) {
      const { view } = await approved.get(scope, id);
      // A link whose host is no longer allowed can still be renamed or disabled.
      if (view.host !== input['host'] || view.port !== input['port']) {
        await demandAllowedHost(input);
      }
      return (await chooseResource(scope)).replace(scope, id, input, ifMatch);
    },
  };
  return facts.inspect === undefined ? links : withInspection(links, facts.inspect);
}
