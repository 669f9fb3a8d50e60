// Checks if a device may use the connector: known, enabled, supported family, active service.
import type { ConnectorFaultCode } from '@switchyard/contract';
import type { Terminal } from '../provisioning/index.ts';
import type { ConnectorDeps } from './deps.ts';
import { Fault } from './faults.ts';

/** The catalogue service that enables the connector. */
const service = { name: 'Cloud Connector', domain: 'Retail API' } as const;

/** A terminal that is assigned to a logical device, a store and a merchant. */
export type PlacedTerminal = Terminal &
  Required<Pick<Terminal, 'logicalDeviceId' | 'storeId' | 'merchantId'>>;

export type Devices = ReturnType<typeof createDevices>;

export const deviceKeyOf = ({
  organizationId,
  physicalDeviceId,
}: Pick<Terminal, 'organizationId' | 'physicalDeviceId'>): string =>
  `${organizationId}.${physicalDeviceId}`;

/** The assignment of a terminal, which decides the clients that may use or register it. */
export type Spot = Pick<PlacedTerminal, 'merchantId' | 'storeId' | 'logicalDeviceId'>;

export const isSameSpot = (one: Spot, other: Spot): boolean =>
  one.logicalDeviceId === other.logicalDeviceId &&
  one.storeId === other.storeId &&
  one.merchantId === other.merchantId;

const isPlaced = (terminal: Terminal): terminal is PlacedTerminal =>
  terminal.logicalDeviceId !== undefined &&
  terminal.storeId !== undefined &&
  terminal.merchantId !== undefined;

/** The terminal retries at this interval while a user enters the claim code. */
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
    const { items } = await catalog.explainDeviceServices({ organizationId }, logicalDeviceId);
    const found = items.find(isService);
    const level = found?.levels.find(({ active }) => !active)?.level;
    return level === undefined ? new Fault('not_subscribed') : new Fault('not_enabled', { level });
  }

  /** Checks the data of the terminal itself: family, claim, assignment and status. */
  function ownFault(terminal: Terminal): Fault | undefined {
    if (!families.has(terminal.family.toLowerCase())) return new Fault('family_not_supported');
    if (requiresClaims && !terminal.isClaimed) return notClaimed();
    if (!isPlaced(terminal) || !terminal.isEnabled) return new Fault('device_disabled');
    return undefined;
  }

  /** Returns the reason why the connector cannot use the terminal, or undefined. */
  async function obstacle(terminal: Terminal | undefined): Promise<Fault | undefined> {
    if (terminal === undefined) return new Fault('device_unknown');
    const own = ownFault(terminal);
    if (own !== undefined || !isPlaced(terminal)) return own;
    const { organizationId, logicalDeviceId } = terminal;
    const active = await catalog.listActiveServices(organizationId, logicalDeviceId);
    return active.some(isService) ? undefined : whyNotActive(terminal);
  }

  return {
    find: terminals.find,

    /** Stores the claim code that a user enters later; does nothing for a claimed terminal. */
    async rememberCode(terminal: Terminal, code: string | undefined): Promise<void> {
      if (code === undefined || terminal.isClaimed) return;
      await terminalClaims.rememberCode(terminal.organizationId, terminal.physicalDeviceId, code);
    },

    /** Throws a fault if the connector cannot use the terminal. */
    async demand(terminal: Terminal | undefined): Promise<PlacedTerminal> {
      const fault = await obstacle(terminal);
      if (fault !== undefined) throw fault;
      return terminal as PlacedTerminal;
    },

    /**
     * Rechecks connected devices with two queries in total; a device without a fault has no entry.
     * `moved` means that the device has another assignment, so other clients may use it now.
     */
    async faultsOf<Asked extends PlacedTerminal>(
      asked: readonly Asked[],
    ): Promise<ReadonlyMap<Asked, ConnectorFaultCode | 'moved'>> {
      const found = await terminals.ofHardware(asked);
      const byId = new Map(found.map((terminal) => [terminal.physicalDeviceId, terminal]));
      const placed = found.filter(isPlaced);
      const active = await catalog.findDevicesWithService(service, placed);
      const faults = new Map<Asked, ConnectorFaultCode | 'moved'>();
      for (const one of asked) {
        const terminal = byId.get(one.physicalDeviceId);
        // The device was connected, so a missing record means that it was deleted.
        const own = terminal === undefined ? 'device_disabled' : ownFault(terminal)?.code;
        if (own !== undefined) faults.set(one, own);
        else if (terminal?.logicalDeviceId !== one.logicalDeviceId) faults.set(one, 'moved');
        else if (!active.has(terminal?.logicalDeviceId ?? '')) faults.set(one, 'not_enabled');
      }
      return faults;
    },
  };
}
