/**
 * What of Nexo Retailer runs in a browser, too: all of it but the protection of messages, for which a
 * page would have to hold the key.
 */
export * from './decimal-amounts.ts';
export { type EventFacts, eventOf, rejectOf } from './dialogue/event.ts';
export {
  availabilityOf,
  type ConditionFacts,
  conditionFacts,
  errorConditions,
  resultOf,
} from './dialogue/outcome.ts';
export {
  createPoiDialogue,
  type PoiDecision,
  type PoiDeps,
  type PoiDialogue,
} from './dialogue/poi.ts';
export type { PoiMemory, ServiceRecord } from './dialogue/poi-memory.ts';
export { referenceTo, repeatedBy } from './dialogue/repeat.ts';
export {
  createSaleDialogue,
  type SaleDeps,
  type SaleDialogue,
  type SaleJournal,
  type SaleOutcome,
  type SaleStep,
  type SaleTimes,
} from './dialogue/sale.ts';
export { createServiceIds, type ServiceIdDeps } from './dialogue/service-ids.ts';
export * from './errors.ts';
export * from './limits.ts';
export * from './messages/additional-response.ts';
export * from './messages/build.ts';
export type { Fault } from './messages/check.ts';
export {
  type AnyMessage,
  type Body,
  type Header,
  isMessage,
  type Message,
} from './messages/message.ts';
export { type ProtectedReading, type Reading, readMessage } from './messages/read.ts';
export { faultsOf, writeMessage } from './messages/write.ts';
export {
  bodyNameOf,
  categories,
  factsOf,
  isCategory,
  type TypeOf,
} from './table/categories.ts';
export { type JsonSchema, schemaOf } from './table/schema.ts';
export { type Structure, type StructureName, structures } from './table/structures.ts';
export * from './table/values.ts';
