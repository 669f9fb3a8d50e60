// Checks if a device may use the connector: known, enabled, supported family, active service.
import type { ConnectorFaultCode } from '@switchyard/contract';
import type { Catalog } from '../../catalog/index.ts';
import type { Provisioning, Terminal } from '../../provisioning/index.ts';
import { ConnectorFault } from '../protocol/connector-fault.ts';
import type { ConnectorSettings } from '../runtime/connector-settings.ts';

/** The catalogue service that enables the connector. */
const connectorService = { name: 'Cloud Connector', domain: 'Retail API' } as const;

/** A terminal that is assigned to a logical device, a store and a merchant. */
export type AssignedTerminal = Terminal &
  Required<Pick<Terminal, 'logicalDeviceId' | 'storeId' | 'merchantId'>>;

export type ConnectorDevices = ReturnType<typeof createConnectorDevices>;

export const deviceKeyOf = ({
  organizationId,
  physicalDeviceId,
}: Pick<Terminal, 'organizationId' | 'physicalDeviceId'>): string =>
  `${organizationId}.${physicalDeviceId}`;

/** The assignment of a terminal, which decides the clients that may use or register it. */
export type Assignment = Pick<AssignedTerminal, 'merchantId' | 'storeId' | 'logicalDeviceId'>;

export const isSameAssignment = (device: Assignment, otherAssignment: Assignment): boolean =>
  device.logicalDeviceId === otherAssignment.logicalDeviceId &&
  device.storeId === otherAssignment.storeId &&
  device.merchantId === otherAssignment.merchantId;

const isAssigned = (terminal: Terminal): terminal is AssignedTerminal =>
  terminal.logicalDeviceId !== undefined &&
  terminal.storeId !== undefined &&
  terminal.merchantId !== undefined;

/** The terminal retries at this interval while a user enters the claim code. */
const claimRetrySeconds = 10;

export const notClaimedFault = (): ConnectorFault =>
  new ConnectorFault('device_not_claimed', { retryAfterSeconds: claimRetrySeconds });

const isConnectorService = ({ name, domain }: { name: string; domain: string }) =>
  name === connectorService.name && domain === connectorService.domain;

export type ConnectorDevicesDeps = {
  readonly settings: Pick<ConnectorSettings, 'environment' | 'connectorFamilies'>;
  readonly provisioning: Pick<Provisioning, 'terminals'> & {
    readonly terminalClaims: Pick<Provisioning['terminalClaims'], 'storeClaimCode'>;
  };
  readonly catalog: Pick<
    Catalog,
    'listActiveServices' | 'findDevicesWithService' | 'explainDeviceServices'
  >;
};

/** @example const device = await devices.requireUsable(terminal); */
export function createConnectorDevices({ settings, provisioning, catalog }: ConnectorDevicesDeps) {
  const families: ReadonlySet<string> = new Set(settings.connectorFamilies);
  const { terminals, terminalClaims } = provisioning;
  const requiresClaims = settings.environment === 'production';

  async function findInactiveReason(device: AssignedTerminal): Promise<ConnectorFault> {
    const { organizationId, logicalDeviceId } = device;
    const { items } = await catalog.explainDeviceServices({ organizationId }, logicalDeviceId);
    const service = items.find(isConnectorService);
    const level = service?.levels.find(({ active }) => !active)?.level;
    return level === undefined
      ? new ConnectorFault('not_subscribed')
      : new ConnectorFault('not_enabled', { level });
  }

  /** Checks the data of the terminal itself: family, claim, assignment and status. */
  function findTerminalFault(terminal: Terminal): ConnectorFault | undefined {
    if (!families.has(terminal.family.toLowerCase()))
      return new ConnectorFault('family_not_supported');
    if (requiresClaims && !terminal.isClaimed) return notClaimedFault();
    if (!isAssigned(terminal) || !terminal.isEnabled) return new ConnectorFault('device_disabled');
    return undefined;
  }

  /** Returns the reason why the connector cannot use the terminal, or undefined. */
  async function findFault(terminal: Terminal | undefined): Promise<ConnectorFault | undefined> {
    if (terminal === undefined) return new ConnectorFault('device_unknown');
    const terminalFault = findTerminalFault(terminal);
    if (terminalFault !== undefined || !isAssigned(terminal)) return terminalFault;
    const { organizationId, logicalDeviceId } = terminal;
    const activeServices = await catalog.listActiveServices(organizationId, logicalDeviceId);
    return activeServices.some(isConnectorService) ? undefined : findInactiveReason(terminal);
  }

  return {
    find: terminals.find,

    /** Stores the claim code that a user enters later; does nothing for a claimed terminal. */
    async storeClaimCode(terminal: Terminal, code: string | undefined): Promise<void> {
      if (code === undefined || terminal.isClaimed) return;
      await terminalClaims.storeClaimCode(terminal.organizationId, terminal.physicalDeviceId, code);
    },

    /** Throws a fault if the connector cannot use the terminal. */
    async requireUsable(terminal: Terminal | undefined): Promise<AssignedTerminal> {
      const fault = await findFault(terminal);
      if (fault !== undefined) throw fault;
      return terminal as AssignedTerminal;
    },

    /**
     * Rechecks connected devices with two queries in total; a device without a fault has no entry.
     * `moved` means that the device has another assignment, so other clients may use it now.
     */
    async findFaults<Device extends AssignedTerminal>(
      devices: readonly Device[],
    ): Promise<ReadonlyMap<Device, ConnectorFaultCode | 'moved'>> {
      const terminalsFound = await terminals.findMany(devices);
      const byId = new Map(terminalsFound.map((terminal) => [terminal.physicalDeviceId, terminal]));
      const assigned = terminalsFound.filter(isAssigned);
      const activeServices = await catalog.findDevicesWithService(connectorService, assigned);
      const faults = new Map<Device, ConnectorFaultCode | 'moved'>();
      for (const device of devices) {
        const terminal = byId.get(device.physicalDeviceId);
        // The device was connected, so a missing record means that it was deleted.
        const terminalFault =
          terminal === undefined ? 'device_disabled' : findTerminalFault(terminal)?.code;
        if (terminalFault !== undefined) faults.set(device, terminalFault);
        else if (terminal?.logicalDeviceId !== device.logicalDeviceId) faults.set(device, 'moved');
        else if (!activeServices.has(terminal?.logicalDeviceId ?? ''))
          faults.set(device, 'not_enabled');
      }
      return faults;
    },
  };
}
