// Runs a simulated terminal for each device that a page shows; one page at a time controls it.
import {
  type PortalTerminalAction,
  type PortalTerminalView,
  ProblemError,
  throwProblem,
} from '@switchyard/contract';
import type { StreamSource } from '../../http/index.ts';
import type { ChangeNotifier, Log } from '../../platform/index.ts';
import type {
  SimulatedDevice,
  SimulatedTerminal,
  StartSimulatedTerminal,
} from './simulated-terminal-port.ts';

const maxTerminals = 100;
/** A reloaded page finds the terminal as it was. */
const stopDelayMs = 5000;

/** An open event stream of a page. */
type Viewer = { readonly pageId: string };

type ControlledTerminal = {
  readonly device: SimulatedDevice;
  readonly started: Promise<SimulatedTerminal>;
  readonly viewers: Set<Viewer>;
  /** The only page whose actions reach the terminal. */
  controllingPage: string;
  /** Changes with each view; the cursor of the event streams. */
  version: number;
  stopTimer?: NodeJS.Timeout;
};

type Ports = {
  readonly start: StartSimulatedTerminal;
  readonly live: Pick<ChangeNotifier, 'publish'>;
  readonly log: Log;
};

const topicOf = ({ physicalDeviceId }: SimulatedDevice) => ({
  kind: 'portal-terminal',
  key: physicalDeviceId,
});

function viewFor(pageId: string, controllingPage: string, view: PortalTerminalView) {
  if (pageId === controllingPage) return view;
  const { tsn, cards } = view;
  return { tsn, cards, connection: 'ControlledByOtherPage' } satisfies PortalTerminalView;
}

/** @example const terminals = createSimulatedTerminals({ start, live, log }); */
export function createSimulatedTerminals({ start, live, log }: Ports) {
  const terminals = new Map<string, ControlledTerminal>();
  /** A terminal that stops still writes its data directory, so the next one waits for it. */
  const stopping = new Map<string, Promise<void>>();

  /** A later terminal of the same device stays. */
  function forget(terminal: ControlledTerminal): void {
    clearTimeout(terminal.stopTimer);
    const { physicalDeviceId } = terminal.device;
    if (terminals.get(physicalDeviceId) === terminal) terminals.delete(physicalDeviceId);
  }

  async function startAfterFormer(
    device: SimulatedDevice,
    onChange: () => void,
  ): Promise<SimulatedTerminal> {
    await stopping.get(device.physicalDeviceId);
    return start(device, onChange);
  }

  function publish(terminal: ControlledTerminal): void {
    terminal.version += 1;
    live.publish(topicOf(terminal.device), terminal.version);
  }

  function open(device: SimulatedDevice, pageId: string): ControlledTerminal {
    if (terminals.size >= maxTerminals) {
      throw new ProblemError('rate_limited', 'Too many terminals are simulated. Try again later.', {
        retryAfterMs: stopDelayMs,
      });
    }
    const terminal: ControlledTerminal = {
      device,
      started: startAfterFormer(device, () => publish(terminal)),
      viewers: new Set(),
      controllingPage: pageId,
      version: 1,
    };
    terminals.set(device.physicalDeviceId, terminal);
    terminal.started.catch(() => forget(terminal));
    return terminal;
  }

  async function stopStarted({ device, started }: ControlledTerminal): Promise<void> {
    try {
      await (await started).stop();
    } catch (error) {
      log.error({ err: error, tsn: device.tsn }, 'a simulated terminal did not stop');
    }
  }

  async function stop(terminal: ControlledTerminal): Promise<void> {
    const { physicalDeviceId } = terminal.device;
    forget(terminal);
    const stopped = stopStarted(terminal);
    stopping.set(physicalDeviceId, stopped);
    await stopped;
    if (stopping.get(physicalDeviceId) === stopped) stopping.delete(physicalDeviceId);
  }

  function leave(terminal: ControlledTerminal, viewer: Viewer): void {
    if (!terminal.viewers.delete(viewer)) return;
    const pageIds = [...terminal.viewers].map(({ pageId }) => pageId);
    const [nextPage] = pageIds;
    if (terminals.get(terminal.device.physicalDeviceId) !== terminal) return;
    if (nextPage === undefined) {
      terminal.stopTimer = setTimeout(() => void stop(terminal), stopDelayMs);
      terminal.stopTimer.unref();
    } else if (!pageIds.includes(terminal.controllingPage)) {
      terminal.controllingPage = nextPage;
      publish(terminal);
    }
  }

  return {
    /**
     * Adds a page that shows the terminal of a device. The first page starts and controls it; the
     * terminal stops a moment after the last page has left.
     */
    enter(device: SimulatedDevice, pageId: string) {
      const terminal = terminals.get(device.physicalDeviceId) ?? open(device, pageId);
      clearTimeout(terminal.stopTimer);
      if (terminal.viewers.size === 0) terminal.controllingPage = pageId;
      const viewer: Viewer = { pageId };
      terminal.viewers.add(viewer);
      const source: Pick<StreamSource, 'topic' | 'read'> = {
        topic: topicOf(device),
        async read(after) {
          const { started, version, controllingPage } = terminal;
          const view = viewFor(pageId, controllingPage, (await started).view());
          const event = { id: version, type: 'terminal', data: JSON.stringify(view) };
          return { events: version > after ? [event] : [], next: version };
        },
      };
      return { source, leave: () => leave(terminal, viewer) };
    },

    /** @throws ProblemError if the page does not control the terminal */
    async act({ physicalDeviceId }: SimulatedDevice, pageId: string, action: PortalTerminalAction) {
      const terminal = terminals.get(physicalDeviceId);
      const isViewer = [...(terminal?.viewers ?? [])].some((viewer) => viewer.pageId === pageId);
      const isAllowed = action.type === 'TakeOver' || terminal?.controllingPage === pageId;
      if (terminal === undefined || !isViewer || !isAllowed) {
        return throwProblem(
          'terminal_not_controlled',
          'The page does not control this terminal. Take it over, or open the page again.',
        );
      }
      const simulated = await terminal.started;
      if (action.type === 'TakeOver') {
        terminal.controllingPage = pageId;
        publish(terminal);
      } else if (action.type === 'Connect') simulated.connect();
      else if (action.type === 'Disconnect') simulated.disconnect();
      else simulated.input(action);
    },

    async stop(): Promise<void> {
      await Promise.all([...Array.from(terminals.values(), stop), ...stopping.values()]);
    },
  };
}
