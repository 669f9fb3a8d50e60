// Keeps the links open that are configured: opens new ones, replaces changed ones, drains old ones.
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
  /** Makes what is open what is configured now. */
  look(): Promise<void>;
  connection(linkId: string): AcquirerConnection | undefined;
  availability(organizationId: string): { name: string; available: boolean }[];
  /** The links of an organisation that are open or should be, with what carries them. */
  open(organizationId: string): OpenLink[];
  /** Drains and closes all, those that were replaced too. */
  close(): Promise<void>;
};

export type OpenLink = {
  linkId: string;
  name: string;
  available: boolean;
  /** Disabled or removed: it takes no sale, and is open for what was begun on it. */
  isFinishing: boolean;
  /** Left out by what keeps none. */
  connections?: { wanted: number; signedOn: number };
  /** Epoch ms. */
  clientCertificateExpiresAt?: number;
  /** Settings that cannot be used as they stand. */
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
  /** Those that are enabled, and those of `also` whatever their status. */
  loadLinks: (also: readonly string[]) => Promise<AcquirerLink[]>;
  /** The links that something is left to finish on; dear, so asked for in doubt alone. */
  unfinishedLinks: () => Promise<string[]>;
  onLateAnswer: (late: LateAnswer) => void;
};

type Connected = { fingerprint: string; connection: AcquirerConnection };
type Open = Connected & {
  link: AcquirerLink;
  /** Has other settings, and takes over as soon as it is of more use than the current one. */
  successor?: Connected;
};

const defaultHost = 'iso1987-binary';

const findHost = (hosts: Hosts, { settings }: Iso8583HostLink): KnownHost => {
  const name = settings.dialect ?? defaultHost;
  const known = hosts.find(name);
  if (known === undefined) {
    throw new LinkSettingFault('/dialect', `is ${name}, of which there is no table`);
  }
  return known;
};

/** undefined also where it cannot be used: opening the link tells why. */
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
 * The name is not part of it: what is only renamed stays connected. The table that it is spoken by,
 * and the certificate that it shows, are.
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
    : { pointer: '', detail: 'cannot be opened; the log of the platform says why' };

// Names are an organisation's own: two may have a link of the same name.
const labelsOf = ({ linkId, name }: AcquirerLink) => ({ link: linkId, name });

/** @example const links = createLinks({ clock, log, metrics, timeoutMs, loadLinks, onLateAnswer }); */
export function createLinks(deps: LinksDeps): Links {
  const open = new Map<string, Open>();
  /** Links that could not be opened as they are set now. */
  const failing = new Map<string, { link: AcquirerLink; fault: LinkFault }>();
  const draining = new Set<Promise<void>>();
  let looked: Promise<void> = Promise.resolve();
  let closed = false;
  let doubtful = true;
  const up = deps.metrics.gauge({
    name: 'switchyard_acquirer_link_up',
    help: 'Whether an acquirer link is signed on',
    labelNames: ['link', 'name'],
  });

  function show({ link, connection }: Open): void {
    up.set(labelsOf(link), connection.available() ? 1 : 0);
  }

  function retire({ connection }: Connected): void {
    const drained = connection
      .close()
      .catch((error: unknown) => deps.log.warn({ err: error }, 'a link did not close'))
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

  // The links of all organisations are opened together: a faulty one must not cost the others.
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
      deps.log.error({ err: error, link: link.name }, 'a link cannot be opened');
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

  // A link that was disabled or removed stays open until nothing is left to finish on it.
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

  /** What opening it has met says more than a look at the same member. */
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
    // One after another: what was read first must not undo what was read later.
    look() {
      const mine = looked.then(lookOnce);
      looked = mine.catch(() => {});
      return mine;
    },
    connection(linkId) {
      const entry = open.get(linkId);
      // Perhaps closed a moment too early: the next look makes sure.
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
