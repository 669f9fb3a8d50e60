/** Nexo Retailer (Sale to POI): messages, dialogue rules, amounts and message protection. */
export * from './browser.ts';
export {
  createProtection,
  type DecryptedReading,
  type Protection,
  type ProtectionDeps,
  type ProtectionError,
} from './protection/adyen-v1.ts';
export { type DerivedKeys, deriveKeys, type SharedKey } from './protection/derive-keys.ts';
