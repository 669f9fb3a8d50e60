// Whether a device can be used through the connector: known, enabled, of a served family, and the service active.
import type { ConnectorFaultCode } from '@switchyard/contract';
import type { Terminal } from '../provisioning/index.ts';
import type { ConnectorDeps } from './deps.ts';
import { Fault } from './faults.ts';

/** The service of the catalogue that stands for the connector. */
const service = { name: 'Cloud Connector', domain: 'Retail API' } as const;

/** A terminal in its place. */
export type PlacedTerminal = Terminal &
  Required<Pick<Terminal, 'logicalDeviceId' | 'storeId' | 'merchantId'>>;

export type Devices = ReturnType<typeof createDevices>;

export const deviceKeyOf = ({
  organizationId,
  physicalDeviceId,
}: Pick<Terminal, 'organizationId' | 'physicalDeviceId'>): string =>
  `${organizationId}.${physicalDeviceId}`;

/** Who may use a terminal, and who it may register for, depends on where it stands. */
export type Spot = Pick<PlacedTerminal, 'merchantId' | 'storeId' | 'logicalDeviceId'>;

export const isSameSpot = (one: Spot, other: Spot): boolean =>
  one.logicalDeviceId === other.logicalDeviceId &&
  one.storeId === other.storeId &&
  one.merchantId === other.merchantId;

const isPlaced = (terminal: Terminal): terminal is PlacedTerminal =>
  terminal.logicalDeviceId !== undefined &&
  terminal.storeId !== undefined &&
  terminal.merchantId !== undefined;

/** A person enters the code, and the terminal tries again meanwhile. */
const claimRetrySeconds = 10;

export const notClaimed = (): Fault =>
  new Fault('device_not_claimed', { retryAfterSeconds: claimRetrySeconds });

const isService = ({ name, domain }: { name: string; domain: string }) =>
  name === service.name && domain === service.domain;

type Deps = Pick<ConnectorDeps, 'settings' | 'provisioning' | 'catalog'>;

/** @example const device = await devices.demand(terminal); */
export function createDevices({ settings, provisioning, catalog }: Deps) {
  const families: ReadonlySet<string> = new Set(settings.connectorFamilies);
  const { terminals, terminalClaims } = provisioning;
  const requiresClaims = settings.environment === 'production';

  async function whyNotActive(device: PlacedTerminal): Promise<Fault> {
    const { organizationId, logicalDeviceId } = device;
    const { items } = await catalog.explain({ organizationId }, logicalDeviceId);
    const found = items.find(isService);
    const level = found?.levels.find(({ active }) => !active)?.level;
    return level === undefined ? new Fault('not_subscribed') : new Fault('not_enabled', { level });
  }

  /** What its own facts say against it. */
  function ownFault(terminal: Terminal): Fault | undefined {
    if (!families.has(terminal.family.toLowerCase())) return new Fault('family_not_supported');
    if (requiresClaims && !terminal.isClaimed) return notClaimed();
    if (!isPlaced(terminal) || !terminal.isEnabled) return new Fault('device_disabled');
    return undefined;
  }

  /** What stands in the way, or nothing. */
  async function obstacle(terminal: Terminal | undefined): Promise<Fault | undefined> {
    if (terminal === undefined) return new Fault('device_unknown');
    const own = ownFault(terminal);
    if (own !== undefined || !isPlaced(terminal)) return own;
    const { organizationId, logicalDeviceId } = terminal;
    const active = await catalog.activeServices(organizationId, logicalDeviceId);
    return active.some(isService) ? undefined : whyNotActive(terminal);
  }

  return {
    find: terminals.find,

    /** The code that a person enters; a claimed terminal sends none. */
    async rememberCode(terminal: Terminal, code: string | undefined): Promise<void> {
      if (code === undefined || terminal.isClaimed) return;
      await terminalClaims.rememberCode(terminal.organizationId, terminal.physicalDeviceId, code);
    },

    /** Throws the fault that stands in the way. */
    async demand(terminal: Terminal | undefined): Promise<PlacedTerminal> {
      const fault = await obstacle(terminal);
      if (fault !== undefined) throw fault;
      return terminal as PlacedTerminal;
    },

    /**
     * Asked again of devices that are connected, by two questions for all; those without are fine. One that
     * stands elsewhere now has moved: who may use it, and who it may register for, has changed.
     */
    async faultsOf<Asked extends PlacedTerminal>(
      asked: readonly Asked[],
    ): Promise<ReadonlyMap<Asked, ConnectorFaultCode | 'moved'>> {
      const found = await terminals.ofHardware(asked);
      const byId = new Map(found.map((terminal) => [terminal.physicalDeviceId, terminal]));
      const placed = found.filter(isPlaced);
      const active = await catalog.activeAt(service, placed);
      const faults = new Map<Asked, ConnectorFaultCode | 'moved'>();
      for (const one of asked) {
        const terminal = byId.get(one.physicalDeviceId);
        // One that was deleted is not there to be used any more: it was known.
        const own = terminal === undefined ? 'device_disabled' : ownFault(terminal)?.code;
        if (own !== undefined) faults.set(one, own);
        else if (terminal?.logicalDeviceId !== one.logicalDeviceId) faults.set(one, 'moved');
        else if (!active.has(terminal?.logicalDeviceId ?? '')) faults.set(one, 'not_enabled');
      }
      return faults;
    },
  };
}
