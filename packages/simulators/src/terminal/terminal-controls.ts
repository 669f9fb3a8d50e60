// What can be set at the terminal from outside, as a hand at a real one would.
import type { eventOf } from '@switchyard/nexo';
import type { Moment } from './context/service-context.ts';
import type { Terminal } from './context/terminal-interface.ts';
import type { Keeper } from './storage/terminal-store.ts';

type Deps = {
  readonly moment: Moment;
  readonly keeper: Keeper;
  readonly notify: (event: Parameters<typeof eventOf>[0]) => void;
  readonly showIdle: () => void;
  readonly settle: () => void;
};

type Controls = Omit<Terminal, 'tsn' | 'receive' | 'attach' | 'screen' | 'reboot' | 'stop'>;

export function controlsOf({ moment, keeper, notify, showIdle, settle }: Deps): Controls {
  return {
    setCard(name) {
      moment.cardName = name;
    },
    setFault(fault) {
      moment.fault = fault;
    },
    setPaper(hasPaper) {
      moment.hasPaper = hasPaper;
      if (!hasPaper) notify('OutOfOrder');
    },
    setBusy(isBusy) {
      moment.isBusy = isBusy;
    },
    setMaintenance(isInMaintenance) {
      if (isInMaintenance === moment.isInMaintenance) return;
      moment.isInMaintenance = isInMaintenance;
      notify(isInMaintenance ? 'BeginMaintenance' : 'EndMaintenance');
      showIdle();
    },
    setReachable(isReachable) {
      moment.isReachable = isReachable;
      notify(isReachable ? 'NetworkConnected' : 'NetworkDisconnected');
      if (isReachable) settle();
    },
    setTyped(command, text) {
      moment.typed.set(command, text);
    },
    owed() {
      const { reversals, uploads } = keeper.read();
      return { reversals: reversals.length, uploads: uploads.length };
    },
  };
}
