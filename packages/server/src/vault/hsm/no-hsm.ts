// Refuses every key operation if no hardware security module is attached.
import { HsmError, type OpenableHsm } from './hsm-types.ts';

export function createAbsentHsm(): OpenableHsm {
  const refuse = async (): Promise<never> => {
    throw new HsmError('HsmUnavailable', 'no HSM is attached');
  };
  return {
    start: async () => {},
    translatePin: refuse,
    decryptData: refuse,
    mac: refuse,
    importKey: refuse,
    checkKey: refuse,
    mayUse: () => true,
    health: async () => 'down',
    close: async () => {},
  };
}
