// Opens configured acquirer links, replaces changed links and drains removed links.
import { defined } from '@switchyard/contract';
import type { Clock, Log, Metrics } from '../../platform/index.ts';
import type { Hsm } from '../../vault/index.ts';
import type { LinkSigners } from '../http-json/connect-http-json.ts';
import type { Hosts, KnownHost } from '../iso8583-host/host-tables.ts';
import type { ClientCertificate, ClientCertificates } from '../keys/client-certificate-store.ts';
import type { LinkKeys } from '../keys/zone-key-exchange.ts';
import type {
  AcquirerConnection,
  AcquirerLink,
  Iso8583HostLink,
  LateAnswer,
} from '../spi/acquirer-spi.ts';
import { type LinkFault, LinkSettingFault } from '../spi/invalid-link-setting.ts';
import { connectAcquirer } from './connect-acquirer.ts';
import type { LinkInspections } from './link-configuration-checks.ts';

export type Links = {
  /** Applies the current configuration to the open links. */
  look(): Promise<void>;
  connection(linkId: string): AcquirerConnection | undefined;
  availability(organizationId: string): { name: string; available: boolean }[];
  /** Lists the open and the failed links of an organisation, with their connections. */
  open(organizationId: string): OpenLink[];
  /** Drains and closes all links, including replaced ones. */
  close(): Promise<void>;
};

export type OpenLink = {
  linkId: string;
  name: string;
  available: boolean;
  /** The link is disabled or removed: it accepts no new sales and completes pending ones. */
  isFinishing: boolean;
  /** Undefined for adapters without persistent connections. */
  connections?: { wanted: number; signedOn: number };
  /** Epoch ms. */
  clientCertificateExpiresAt?: number;
  /** Settings that are invalid. */
  faults: readonly LinkFault[];
};

export type LinksDeps = {
  hosts: Hosts;
  certificates: ClientCertificates;
  inspections: LinkInspections;
  keys: LinkKeys;
  signers?: LinkSigners | undefined;
  hsm?: Hsm | undefined;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  timeoutMs: number;
  /** Loads enabled links, and the given links whatever their status. */
  loadLinks: (also: readonly string[]) => Promise<AcquirerLink[]>;
  /** Finds links with pending messages. The query is expensive, so it runs only if needed. */
  unfinishedLinks: () => Promise<string[]>;
  onLateAnswer: (late: LateAnswer) => void;
};

type Connected = { fingerprint: string; connection: AcquirerConnection };
type Open = Connected & {
  link: AcquirerLink;
  /** A connection with the changed settings; it becomes current once it is available. */
  successor?: Connected;
};

const defaultHost = 'iso1987-binary';

const findHost = (hosts: Hosts, { settings }: Iso8583HostLink): KnownHost => {
  const name = settings.dialect ?? defaultHost;
  const known = hosts.find(name);
  if (known === undefined) {
    throw new LinkSettingFault('/dialect', `names the unknown dialect ${name}`);
  }
  return known;
};

/** Returns undefined for an invalid certificate: opening the link reports the error. */
function certificateOf(
  certificates: ClientCertificates,
  { organizationId, settings }: AcquirerLink,
): ClientCertificate | undefined {
  if (settings.clientCertificate === undefined) return undefined;
  try {
    return certificates.find(organizationId, settings.clientCertificate);
  } catch (error) {
    if (error instanceof LinkSettingFault) return undefined;
    throw error;
  }
}

/**
 * The fingerprint covers the settings, the dialect table and the client certificate. It excludes the
 * name, so that a renamed link stays connected.
 */
function fingerprintOf({ hosts, certificates }: LinksDeps, link: AcquirerLink): string {
  const { adapter, settings } = link;
  const name = link.adapter === 'iso8583-host' ? link.settings.dialect : undefined;
  const edition = name === undefined ? undefined : hosts.find(name)?.edition;
  return JSON.stringify([adapter, settings, edition, certificateOf(certificates, link)?.edition]);
}

const faultOf = (error: unknown): LinkFault =>
  error instanceof LinkSettingFault
    ? { pointer: error.pointer, detail: error.message }
    : { pointer: '', detail: 'cannot be opened; see the server log' };

// Link names are unique only within an organisation, so the metric also has the link id.
const labelsOf = ({ linkId, name }: AcquirerLink) => ({ link: linkId, name });

/** @example const links = createLinks({ clock, log, metrics, timeoutMs, loadLinks, onLateAnswer }); */
export function createLinks(deps: LinksDeps): Links {
  const open = new Map<string, Open>();
  /** Links that could not be opened with their current settings. */
  const failing = new Map<string, { link: AcquirerLink; fault: LinkFault }>();
  const draining = new Set<Promise<void>>();
  let looked: Promise<void> = Promise.resolve();
  let closed = false;
  let doubtful = true;
  const up = deps.metrics.gauge({
    name: 'switchyard_acquirer_link_up',
    help: '1 if the acquirer link can send messages, otherwise 0',
    labelNames: ['link', 'name'],
  });

  function show({ link, connection }: Open): void {
    up.set(labelsOf(link), connection.available() ? 1 : 0);
  }

  function retire({ connection }: Connected): void {
    const drained = connection
      .close()
      .catch((error: unknown) => deps.log.warn({ err: error }, 'acquirer link could not be closed'))
      .finally(() => draining.delete(drained));
    draining.add(drained);
  }

  function settle(linkId: string): void {
    const entry = open.get(linkId);
    if (entry === undefined) return;
    const { successor, ...old } = entry;
    const { connection } = old;
    if (successor !== undefined && (successor.connection.available() || !connection.available())) {
      Object.assign(entry, successor);
      delete entry.successor;
      retire(old);
    }
    show(entry);
  }

  // One refresh opens the links of all organisations: an invalid link must not prevent the others.
  function connect(link: AcquirerLink, fingerprint: string): Connected | undefined {
    try {
      const connection = connectAcquirer({
        link,
        hsm: deps.hsm,
        keys: deps.keys,
        signers: deps.signers,
        findCertificate: ({ organizationId }, name) => deps.certificates.find(organizationId, name),
        findHost: (of) => findHost(deps.hosts, of),
        timeoutMs: deps.timeoutMs,
        clock: deps.clock,
        log: deps.log.child({ link: link.name }),
        onLateAnswer: deps.onLateAnswer,
        onState: () => settle(link.linkId),
      });
      failing.delete(link.linkId);
      return { fingerprint, connection };
    } catch (error) {
      deps.log.error({ err: error, link: link.name }, 'acquirer link could not be opened');
      failing.set(link.linkId, { link, fault: faultOf(error) });
      return undefined;
    }
  }

  function rename(entry: Open, link: AcquirerLink): void {
    if (entry.link.name !== link.name) up.remove(labelsOf(entry.link));
    entry.link = link;
  }

  function configure(link: AcquirerLink): void {
    const { linkId } = link;
    const fingerprint = fingerprintOf(deps, link);
    deps.inspections.look(link, fingerprint);
    const entry = open.get(linkId);
    const newest = entry?.successor ?? entry;
    if (entry !== undefined) rename(entry, link);
    if (newest?.fingerprint === fingerprint) failing.delete(linkId);
    else {
      if (entry?.successor !== undefined) {
        retire(entry.successor);
        delete entry.successor;
      }
      if (entry?.fingerprint === fingerprint) failing.delete(linkId);
      else {
        const next = connect(link, fingerprint);
        if (next === undefined) up.set(labelsOf(link), 0);
        else if (entry === undefined) open.set(linkId, { ...next, link });
        else entry.successor = next;
      }
    }
    settle(linkId);
  }

  function drop(linkId: string, entry: Open): void {
    open.delete(linkId);
    up.remove(labelsOf(entry.link));
    if (entry.successor !== undefined) retire(entry.successor);
    retire(entry);
  }

  // A disabled or removed link stays open until its pending messages are complete.
  async function wanted(): Promise<AcquirerLink[]> {
    const enabled = await deps.loadLinks([]);
    const ids = new Set(enabled.map(({ linkId }) => linkId));
    if (!doubtful && [...open.keys()].every((linkId) => ids.has(linkId))) return enabled;
    const links = await deps.loadLinks(await deps.unfinishedLinks());
    doubtful = false;
    return links;
  }

  async function lookOnce(): Promise<void> {
    deps.hosts.known();
    await deps.keys.look();
    const configured = await wanted();
    if (closed) return;
    const keep = new Set(configured.map((link) => link.linkId));
    for (const [linkId, entry] of open) if (!keep.has(linkId)) drop(linkId, entry);
    for (const [linkId, { link }] of failing) {
      if (keep.has(linkId)) continue;
      failing.delete(linkId);
      up.remove(labelsOf(link));
    }
    deps.inspections.keep(keep);
    for (const link of configured) configure(link);
  }

  /** The error from opening a link takes precedence over a check of the same setting. */
  function faultsOf(linkId: string): LinkFault[] {
    const met = failing.get(linkId)?.fault;
    const seen = deps.inspections
      .faultsOf(linkId)
      .filter(({ pointer }) => pointer !== met?.pointer);
    return met === undefined ? seen : [met, ...seen];
  }

  function shown(link: AcquirerLink, connection: AcquirerConnection | undefined): OpenLink {
    const { linkId, name, isFinishing = false } = link;
    const expiresAt = certificateOf(deps.certificates, link)?.expiresAt;
    return {
      linkId,
      name,
      isFinishing,
      available: connection?.available() ?? false,
      ...defined({
        connections: connection?.connections === undefined ? undefined : connection.connections(),
        clientCertificateExpiresAt: expiresAt,
      }),
      faults: faultsOf(linkId),
    };
  }

  return {
    // Refreshes run one at a time: an older configuration must not overwrite a newer one.
    look() {
      const mine = looked.then(lookOnce);
      looked = mine.catch(() => {});
      return mine;
    },
    connection(linkId) {
      const entry = open.get(linkId);
      // The link may have been closed too early: the next refresh checks for pending messages.
      if (entry === undefined) doubtful = true;
      return entry?.connection;
    },
    availability: (organizationId) =>
      [...open.values()]
        .filter(({ link }) => link.organizationId === organizationId)
        .map(({ link, connection }) => ({ name: link.name, available: connection.available() })),
    open: (organizationId) =>
      [...open.values(), ...[...failing.values()].filter(({ link }) => !open.has(link.linkId))]
        .filter(({ link }) => link.organizationId === organizationId)
        .map((entry) => shown(entry.link, 'connection' in entry ? entry.connection : undefined)),
    async close() {
      closed = true;
      for (const [linkId, entry] of open) drop(linkId, entry);
      await Promise.all(draining);
    },
  };
}
