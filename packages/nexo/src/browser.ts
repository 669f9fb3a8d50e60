/**
 * The part of Nexo Retailer that also runs in a browser: all of it but the protection of messages, for which a
 * page would have to hold the key.
 */
export * from './decimal-amounts.ts';
export {
  availabilityAfterEvent,
  type ConditionFacts,
  conditionFacts,
  errorConditions,
  resultOf,
} from './dialogue/error-condition-advice.ts';
export {
  buildEventNotification,
  buildRejectNotification,
  type EventFacts,
} from './dialogue/event-notifications.ts';
export {
  createPoiDialogue,
  type PoiDecision,
  type PoiDeps,
  type PoiDialogue,
} from './dialogue/poi-dialogue.ts';
export type { PoiMemory, ServiceRecord } from './dialogue/poi-service-records.ts';
export {
  createSaleDialogue,
  type SaleDeps,
  type SaleDialogue,
  type SaleJournal,
  type SaleOutcome,
  type SaleStep,
  type SaleTimes,
} from './dialogue/sale-dialogue.ts';
export { createServiceIds, type ServiceIdDeps } from './dialogue/service-ids.ts';
export { referenceTo, repeatedBy } from './dialogue/transaction-status.ts';
export * from './errors.ts';
export * from './limits.ts';
export * from './messages/additional-response.ts';
export * from './messages/build-message.ts';
export type { Fault } from './messages/check-structure.ts';
export {
  type AnyMessage,
  type Body,
  type Header,
  isMessage,
  type Message,
} from './messages/message.ts';
export { type ProtectedReading, type Reading, readMessage } from './messages/read-message.ts';
export { findFaults, writeMessage } from './messages/write-message.ts';
export {
  bodyNameOf,
  categories,
  categoryRules,
  isCategory,
  type MessageTypeOf,
} from './table/categories.ts';
export { type JsonSchema, schemaOf } from './table/json-schema.ts';
export { type Structure, type StructureName, structures } from './table/structures.ts';
export * from './table/value-sets.ts';
