// What the portal needs from a simulated terminal; the demo starts it.
import type { CardholderInput, PortalTerminalView } from '@switchyard/contract';

/** The hardware that the terminal simulates. */
export type SimulatedDevice = {
  readonly organizationId: string;
  readonly physicalDeviceId: string;
  readonly tsn: string;
};

export type SimulatedTerminal = {
  view(): PortalTerminalView;
  input(input: CardholderInput): void;
  connect(): void;
  /** Disconnects from the connector, like an unplugged cable. */
  disconnect(): void;
  stop(): Promise<void>;
};

/** `onChange` is called after each change of the view. */
export type StartSimulatedTerminal = (
  device: SimulatedDevice,
  onChange: () => void,
) => Promise<SimulatedTerminal>;
