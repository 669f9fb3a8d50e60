// Refuses every key operation if no hardware security module is attached.
import { HsmError, type StartableHsm } from './hsm-types.ts';

export function createNoHsm(): StartableHsm {
  const throwUnavailable = async (): Promise<never> => {
    throw new HsmError('HsmUnavailable', 'no HSM is attached');
  };
  return {
    start: async () => {},
    translatePin: throwUnavailable,
    decryptData: throwUnavailable,
    mac: throwUnavailable,
    importKey: throwUnavailable,
    checkKey: throwUnavailable,
    mayUse: () => true,
    health: async () => 'down',
    close: async () => {},
  };
}
