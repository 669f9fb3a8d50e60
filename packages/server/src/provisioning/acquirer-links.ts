// Acquirer links: where and how an acquirer is reached.
import type { AcquirerLink } from '@switchyard/contract';
import { builtInHostNames } from '@switchyard/iso8583';
import { type AddressGuard, type Database, isLoopbackHost } from '../platform/index.ts';
import { refuseField } from './errors.ts';
import {
  httpColumn,
  httpMembers,
  httpSettings,
  isHttp,
  type LinkSigningKeys,
} from './http-links.ts';
import { type LinkInspection, withInspection } from './link-inspection.ts';
import { createResource, type Deps, type Resource } from './resource.ts';
import type { Input, Kind } from './resource-kind.ts';
import type { Scope } from './scope.ts';
import { institutionOfLink, listLinksToOpen, type Row, type Run, runOn } from './store.ts';
import { acquirerContracts, acquirerLinks } from './tables.ts';
import { holdOrganization } from './tree.ts';
import { commonMembers, viewOf } from './view.ts';

/** What a link must know of the table of its host. */
export type Dialect = {
  readonly name: string;
  /** Bytes of a PIN block: 8, of format 4 16; 0 where the host takes no PIN. */
  readonly pinBytes: number;
  /** Messages carry a code of authentication. */
  readonly needsMac: boolean;
};

const defaultDialect = 'iso1987-binary';

export const builtInDialects: readonly Dialect[] = builtInHostNames.map((name) => ({
  name,
  pinBytes: 8,
  needsMac: false,
}));

const pinBytesOf = { ISO0: 8, ISO3: 8, ISO4: 16 } as const;

/** Better told now than by every sale that cannot be written. */
function checkKeys(input: Input, { name, pinBytes, needsMac }: Dialect): void {
  const pin = input['zonePinKey'] as { format: keyof typeof pinBytesOf } | undefined;
  if (pin !== undefined && pinBytesOf[pin.format] !== pinBytes) {
    refuseField('/zonePinKey/format', `is not what ${name} takes: ${pinBytes} bytes in field 52`);
  }
  if (needsMac && input['macKey'] === undefined && input['zoneMasterKey'] === undefined) {
    refuseField('/macKey', `is needed by ${name}, or a zoneMasterKey under which it comes`);
  }
}

/** Keys are kept as they were named: what they are is between the module and the acquirer. */
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
 * A link that is in use may be renamed or taken out of use where it is, though its place is named no more. One that
 * was not enabled is looked at as if it were new: else it would be made so first, and enabled then.
 */
const staysPut = (input: Input, current: Row | undefined): boolean =>
  current?.['tls'] === false &&
  current['host'] === input['host'] &&
  current['port'] === input['port'] &&
  (current['status'] === 'Enabled' || input['status'] === 'Disabled');

/** Without TLS a link stays on this machine, and goes to nothing else that listens there. */
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
 * What was sent over a link is named by its institution at the host for as long as somebody captures, reverses or
 * refunds it (DE90): contracts that are gone count too.
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

/** @param approvalOfNew - of a link that is new or leads elsewhere than before */
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
  /** The hosts' tables that this platform has. */
  readonly dialects: () => readonly Dialect[];
  /** Where links without TLS may lead, `host:port`; left out, to all of loopback. */
  readonly proxies?: readonly string[] | undefined;
  /** Left out, a link may lead to any host: for tests of other things. */
  readonly guard?: AddressGuard | undefined;
  /** Whether new links of this organisation need no approval by the operator. */
  readonly isApprovedAtOnce: (organizationId: string) => Promise<boolean>;
  /** Left out, no link shows the keys that the platform signs with. */
  readonly signingKeys?: LinkSigningKeys | undefined;
  /** Left out where no process opens links, or holds their keys: what is wrong is told by their state. */
  readonly inspect?: LinkInspection | undefined;
};

export function createAcquirerLinks(deps: Deps, facts: LinkFacts): Resource<AcquirerLink> {
  const approved = createResource(deps, kindWith(facts, 'Approved'));
  const pending = createResource(deps, kindWith(facts, 'PendingApproval'));
  // Without an author the platform itself makes the link, as in the demo.
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

type OpenedBy<Adapter extends string, Settings> = {
  organizationId: string;
  linkId: string;
  name: string;
  adapter: Adapter;
  /** Disabled or removed: it takes no sale, and is open for what was begun on it. */
  isDraining: boolean;
  settings: {
    host: string;
    port: number;
    tls: boolean;
    clientCertificate?: string;
    institutionId: string;
  } & Settings;
};

type PinKey = { keyRef: string; format: 0 | 3 | 4; keyIndex?: string };

type HttpLinkToOpen = OpenedBy<
  'http-json',
  { path?: string; acquirerKeys: string[]; keyVersion: number; zonePinKey?: PinKey }
>;

type HostLinkToOpen = OpenedBy<
  'iso8583-host',
  {
    dialect: string;
    connections: number;
    tpdu?: string;
    zonePinKey?: PinKey;
    macKey?: { keyRef: string };
    zoneMasterKey?: { keyRef: string };
  }
>;

/** What the acquiring room opens a connection with. */
export type LinkToOpen = HostLinkToOpen | HttpLinkToOpen;

const formats = { ISO0: 0, ISO3: 3, ISO4: 4 } as const;

type StoredKey = { keyRef: string };
type StoredPinKey = StoredKey & { format: keyof typeof formats; keyIndex?: string };

function pinKeyOf(row: Row): { zonePinKey?: PinKey } {
  const pin = row['zone_pin_key'] as StoredPinKey | null;
  return pin === null ? {} : { zonePinKey: { ...pin, format: formats[pin.format] } };
}

function keysOf(row: Row) {
  const mac = row['mac_key'] as StoredKey | null;
  const master = row['zone_master_key'] as StoredKey | null;
  return {
    ...pinKeyOf(row),
    ...(mac === null ? {} : { macKey: mac }),
    ...(master === null ? {} : { zoneMasterKey: master }),
  };
}

function toOpen(row: Row): LinkToOpen {
  const link = {
    organizationId: String(row['organization_id']),
    linkId: String(row['acquirer_link_id']),
    name: String(row['name']),
    isDraining: row['is_finishing'] === true,
  };
  const place = {
    host: String(row['host']),
    port: Number(row['port']),
    tls: row['tls'] === true,
    ...(row['client_certificate'] === null
      ? {}
      : { clientCertificate: String(row['client_certificate']) }),
    institutionId: String(row['institution_id']),
  };
  if (isHttp(row)) {
    const settings = { ...place, ...httpSettings(row), ...pinKeyOf(row) };
    return { ...link, adapter: 'http-json', settings };
  }
  const settings = {
    ...place,
    dialect: String(row['dialect']),
    connections: Number(row['connections']),
    ...(row['tpdu'] === null ? {} : { tpdu: String(row['tpdu']) }),
    ...keysOf(row),
  };
  return { ...link, adapter: 'iso8583-host', settings };
}

/** Reads the links of all organisations, which no caller from outside can. */
export function createLinkDirectory(
  database: Database,
): (also?: readonly string[]) => Promise<LinkToOpen[]> {
  return async (also = []) => (await listLinksToOpen(runOn(database), also)).map(toOpen);
}

/** Reads who is behind a link, of removed links too. */
export function createInstitutionFinder(
  database: Database,
): (organizationId: string, linkId: string) => Promise<string | undefined> {
  return (organizationId, linkId) => institutionOfLink(runOn(database), organizationId, linkId);
}
