// Controls of the simulated terminal, for actions that a person does at a real one.
import type { buildEventNotification } from '@switchyard/nexo';
import type { RuntimeState } from './context/service-context.ts';
import type { Terminal } from './context/terminal-interface.ts';
import type { TerminalStore } from './storage/terminal-store.ts';

type Deps = {
  readonly runtime: RuntimeState;
  readonly store: TerminalStore;
  readonly notify: (event: Parameters<typeof buildEventNotification>[0]) => void;
  readonly showIdle: () => void;
  readonly settle: () => void;
};

type Controls = Omit<
  Terminal,
  'tsn' | 'receive' | 'attach' | 'screen' | 'input' | 'reboot' | 'stop'
>;

export function createControls({ runtime, store, notify, showIdle, settle }: Deps): Controls {
  return {
    setCard(name) {
      runtime.cardName = name;
    },
    setFault(fault) {
      runtime.fault = fault;
    },
    setPaper(hasPaper) {
      runtime.hasPaper = hasPaper;
      if (!hasPaper) notify('OutOfOrder');
    },
    setBusy(isBusy) {
      runtime.isBusy = isBusy;
    },
    setMaintenance(isInMaintenance) {
      if (isInMaintenance === runtime.isInMaintenance) return;
      runtime.isInMaintenance = isInMaintenance;
      notify(isInMaintenance ? 'BeginMaintenance' : 'EndMaintenance');
      showIdle();
    },
    setReachable(isReachable) {
      runtime.isReachable = isReachable;
      notify(isReachable ? 'NetworkConnected' : 'NetworkDisconnected');
      if (isReachable) settle();
    },
    setInput(command, text) {
      runtime.inputs.set(command, text);
    },
    pendingCounts() {
      const { reversals, uploads } = store.read();
      return { reversals: reversals.length, uploads: uploads.length };
    },
  };
}
