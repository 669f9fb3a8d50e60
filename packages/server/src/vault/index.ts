// Exports the vault with its tokens and keys, and the hardware security module for PINs.

export { createHsm } from './hsm/create-hsm.ts';
export { type DemoKeyName, type DemoKeys, demoKeys } from './hsm/demo-keys.ts';
export {
  type DataRequest,
  type DukptScheme,
  type Hsm,
  HsmError,
  type HsmErrorCode,
  type KeyAlgorithm,
  type KeyFacts,
  type KeyImport,
  type KeyUsage,
  type MacAlgorithm,
  type MacRequest,
  type OutPinFormat,
  type PinFormat,
  type PinTranslationRequest,
  type StartableHsm,
} from './hsm/hsm-types.ts';
export { createKeyCeremony, type KeyCeremony } from './hsm/key-ceremony.ts';
export { type KeyProvider, openKeyProvider } from './key-providers/open-key-provider.ts';
export { listVaultKeys, requestKeyRotation, type VaultKeyView } from './key-rotation.ts';
export { listPanAccesses, type PanAccess } from './pan-access-log.ts';
export { type Card, createVault, type Vault, type VaultDeps } from './vault.ts';
