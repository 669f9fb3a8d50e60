// Acquirer links: the network address and the protocol settings of an acquirer.
import type { AcquirerLink } from '@switchyard/contract';
import { builtInHosts } from '@switchyard/iso8583';
import { type AddressGuard, isLoopbackHost, type Queries } from '../../platform/index.ts';
import { lockExistingOrganization } from '../organizations/organization-tree.ts';
import type { CallerScope } from '../resources/caller-scope.ts';
import { throwFieldProblem } from '../resources/provisioning-errors.ts';
import type { ResourceDefinition, ResourceInput } from '../resources/resource-definition.ts';
import {
  createResourceOperations,
  type ResourceDeps,
  type ResourceOperations,
} from '../resources/resource-operations.ts';
import type { Row } from '../resources/resource-sql.ts';
import { commonViewMembers, toResourceView } from '../resources/resource-view.ts';
import { acquirerContracts, acquirerLinks } from '../resources/tables.ts';
import { type CheckLinkKeys, withKeyCheck } from './check-link-keys.ts';
import {
  httpViewMembers,
  isHttpLink,
  type LinkSigningKeys,
  toHttpColumn,
} from './http-link-settings.ts';

/** The properties of a host's message dialect that a link depends on. */
export type HostDialect = {
  readonly name: string;
  /** The length of a PIN block in bytes: 8, or 16 for format 4; 0 if the host accepts no PIN. */
  readonly pinBytes: number;
  /** Messages carry a MAC. */
  readonly needsMac: boolean;
  /** The length of the TPDU; 0 if the host has none. */
  readonly tpduBytes: number;
  /** Why the field of the host cannot hold the identifier; undefined if it can. */
  readonly findTerminalFault: (terminalId: string) => string | undefined;
  readonly findMerchantFault: (merchantNumber: string) => string | undefined;
};

const defaultDialect = 'iso1987-binary';

export const builtInDialects: readonly HostDialect[] = Object.keys(builtInHosts).map((name) => ({
  name,
  pinBytes: 8,
  needsMac: false,
  tpduBytes: 0,
  findTerminalFault: () => undefined,
  findMerchantFault: () => undefined,
}));

const pinBlockBytes = { ISO0: 8, ISO3: 8, ISO4: 16 } as const;

/** An early check: otherwise every sale over the link fails when the server writes its message. */
function requireDialectKeys(input: ResourceInput, { name, pinBytes, needsMac }: HostDialect): void {
  const pin = input['zonePinKey'] as { format: keyof typeof pinBlockBytes } | undefined;
  if (pin !== undefined && pinBlockBytes[pin.format] !== pinBytes) {
    throwFieldProblem(
      '/zonePinKey/format',
      `does not fit ${name}, which needs ${pinBytes} bytes in field 52`,
    );
  }
  if (needsMac && input['macKey'] === undefined && input['zoneMasterKey'] === undefined) {
    throwFieldProblem(
      '/macKey',
      `is required by ${name}; send it, or a zoneMasterKey that encrypts it`,
    );
  }
}

function requireFittingTpdu({ tpdu }: ResourceInput, { name, tpduBytes }: HostDialect): void {
  const digits = tpduBytes * 2;
  // A host without a TPDU ignores the one of the link.
  if (typeof tpdu === 'string' && digits > 0 && tpdu.length !== digits)
    throwFieldProblem('/tpdu', `must have ${digits} hexadecimal digits, as the TPDU of ${name}`);
}

/** Stores the key names as sent; only the security module and the acquirer know the keys. */
function toHostColumns(input: ResourceInput, dialects: readonly HostDialect[]): Row {
  const name = String(input['dialect'] ?? defaultDialect);
  const dialect = dialects.find((each) => each.name === name);
  if (dialect === undefined) {
    return throwFieldProblem(
      '/dialect',
      `must be one of ${dialects.map((each) => each.name).join(', ')}`,
    );
  }
  if (input['httpJson'] === undefined) {
    requireDialectKeys(input, dialect);
    requireFittingTpdu(input, dialect);
  }
  return {
    dialect: name,
    connections: input['connections'] ?? 1,
    tpdu: input['tpdu'] ?? null,
    zone_pin_key: input['zonePinKey'] ?? null,
    mac_key: input['macKey'] ?? null,
    zone_master_key: input['zoneMasterKey'] ?? null,
  };
}

const hostViewMembers = (row: Row) => ({
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
const keepsClearAddress = (input: ResourceInput, current: Row | undefined): boolean =>
  current?.['tls'] === false &&
  current['host'] === input['host'] &&
  current['port'] === input['port'] &&
  (current['status'] === 'Enabled' || input['status'] === 'Disabled');

/** A link without TLS may lead only to a loopback host, and only to a configured proxy. */
function requireClearProxy(input: ResourceInput, proxies: readonly string[] | undefined): void {
  const host = String(input['host']);
  if (!isLoopbackHost(host)) throwFieldProblem('/tls', 'may be false only for a loopback host');
  if (proxies?.includes(`${host}:${input['port']}`) === false) {
    throwFieldProblem(
      '/tls',
      'may be false only for a proxy that the operator of the platform has configured',
    );
  }
}

/**
 * The host identifies earlier messages by the institution identifier (DE90) when the server
 * captures, reverses or refunds them. Removed contracts therefore count too.
 */
async function requireNoContract(queries: Queries, link: Row): Promise<void> {
  const used = await queries.query(
    'SELECT 1 FROM acquirer_contracts WHERE organization_id = $1 AND acquirer_link_id = $2 LIMIT 1',
    [link['organization_id'], link['acquirer_link_id']],
  );
  if (used.length === 0) return;
  throwFieldProblem(
    '/institutionId',
    'cannot change after a contract has used the link; create another link',
  );
}

type Approval = AcquirerLink['approval'];

const hasOtherTarget = (input: ResourceInput, current: Row): boolean =>
  current['host'] !== input['host'] ||
  current['port'] !== input['port'] ||
  current['adapter'] !== (input['adapter'] ?? 'Iso8583Host');

/** @param approvalOfNew - the approval of a link that is new or leads to another host */
const createLinkDefinition = (
  { dialects, signingKeys, proxies }: AcquirerLinkOptions,
  approvalOfNew: Approval,
): ResourceDefinition<AcquirerLink> => ({
  table: acquirerLinks,
  notFoundCode: 'resource_not_found',
  idMember: 'acquirerLinkId',
  filters: {},
  lock: (queries, { organizationId }) => lockExistingOrganization(queries, organizationId),
  dependants: [{ type: 'AcquirerContract', table: acquirerContracts, column: 'acquirer_link_id' }],
  toView: (row) =>
    toResourceView(row, {
      acquirerLinkId: row['acquirer_link_id'],
      ...commonViewMembers(row),
      adapter: row['adapter'],
      host: row['host'],
      port: row['port'],
      tls: row['tls'],
      clientCertificate: row['client_certificate'],
      institutionId: row['institution_id'],
      approval: row['approval'],
      ...(isHttpLink(row) ? httpViewMembers(row, signingKeys) : hostViewMembers(row)),
    }),
  async toColumns({ queries }, _scope, input, current) {
    if (current !== undefined && current['institution_id'] !== input['institutionId']) {
      await requireNoContract(queries, current);
    }
    const tls = input['tls'] ?? true;
    if (tls !== true && !keepsClearAddress(input, current)) requireClearProxy(input, proxies);
    const clientCertificate = input['clientCertificate'] ?? null;
    if (clientCertificate !== null && tls !== true) {
      throwFieldProblem('/clientCertificate', 'requires tls');
    }
    return {
      adapter: input['adapter'] ?? 'Iso8583Host',
      host: input['host'],
      port: input['port'],
      tls,
      client_certificate: clientCertificate,
      institution_id: input['institutionId'],
      approval:
        current === undefined || hasOtherTarget(input, current)
          ? approvalOfNew
          : current['approval'],
      ...toHostColumns(input, dialects()),
      http_json: toHttpColumn(input),
    };
  },
  readOnlyMembers: (row) => ({
    approval: row['approval'],
    ...(isHttpLink(row) ? { signingKeys: httpViewMembers(row, signingKeys).signingKeys } : {}),
  }),
});

function stateAfterCreation({ acquirerLinkId, approval, status }: AcquirerLink) {
  const stateUrl = `/payment/v1/acquirer-links/${acquirerLinkId}`;
  if (approval === 'PendingApproval') return { state: approval, stateUrl };
  return { state: status === 'Disabled' ? status : ('Connecting' as const), stateUrl };
}

export type AcquirerLinkOptions = {
  /** The host dialects of this platform. */
  readonly dialects: () => readonly HostDialect[];
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
  readonly checkKeys?: CheckLinkKeys | undefined;
};

export function createAcquirerLinks(
  deps: ResourceDeps,
  options: AcquirerLinkOptions,
): ResourceOperations<AcquirerLink> {
  const approved = createResourceOperations(deps, createLinkDefinition(options, 'Approved'));
  const pending = createResourceOperations(deps, createLinkDefinition(options, 'PendingApproval'));
  // Without an author the platform itself creates the link, as in the demo.
  const chooseResource = async ({ author, organizationId }: CallerScope) =>
    author === undefined || (await options.isApprovedAtOnce(organizationId)) ? approved : pending;

  async function requireAllowedHost({ host, port }: ResourceInput): Promise<void> {
    const fault = await options.guard?.resolveHostFault(String(host), Number(port));
    if (fault !== undefined) throwFieldProblem('/host', fault);
  }

  const links: ResourceOperations<AcquirerLink> = {
    ...approved,
    async create(scope, input, id) {
      await requireAllowedHost(input);
      const { view, ...version } = await (await chooseResource(scope)).create(scope, input, id);
      return { ...version, view: { ...view, ...stateAfterCreation(view) } };
    },
    async replace(scope, id, input, ifMatch) {
      const { view } = await approved.get(scope, id);
      // A link whose host is no longer allowed can still be renamed or disabled.
      if (view.host !== input['host'] || view.port !== input['port']) {
        await requireAllowedHost(input);
      }
      return (await chooseResource(scope)).replace(scope, id, input, ifMatch);
    },
  };
  return options.checkKeys === undefined ? links : withKeyCheck(links, options.checkKeys);
}
