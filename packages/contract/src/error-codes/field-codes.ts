/** Error codes of syntax checks and member checks. */
import { permanentError } from './error-code-kinds.ts';

/** Syntax and members of the body and the query. */
export const fieldCodes = {
  malformed_json: permanentError(
    400,
    'The body is not strict JSON',
    'The body is not JSON, repeats a field, has a number with fraction or exponent (10.0, 1e3), or is nested too deeply.',
  ),
  malformed_csv: permanentError(
    400,
    'The CSV data is not well-formed',
    'The rows are not CSV in UTF-8: a quote is not closed, or a row has too few or too many cells.',
  ),
  field_required: permanentError(
    422,
    'A required field is missing',
    'The operation requires the field that the pointer names. Add it to the body.',
  ),
  field_unknown: permanentError(
    422,
    'A field is not known',
    'The operation does not define a field of the body. Remove the field that the pointer names.',
  ),
  field_invalid: permanentError(
    422,
    'A field has an invalid value',
    'A field has the wrong type or a value that is not allowed. Correct the field that the pointer names.',
  ),
  field_read_only: permanentError(
    422,
    'A read-only field was changed',
    'The field that the pointer names is set at creation. Send its stored value, or leave it out.',
  ),
  cursor_invalid: permanentError(
    422,
    'The cursor is not valid',
    'Use the nextCursor of the previous page, unchanged and with the same filters.',
  ),
  amount_invalid: permanentError(
    422,
    'The amount is not valid',
    'An amount is a positive JSON integer in minor units of its currency.',
  ),
  amount_zero: permanentError(
    422,
    'The amount is zero',
    'The amount 0 is allowed for an account verification only.',
  ),
  amount_too_large: permanentError(
    422,
    'The amount is too large',
    'The largest amount is 999999999999 minor units (twelve digits).',
  ),
  currency_unknown: permanentError(
    422,
    'The currency is not known',
    'The currency is not an active ISO 4217 code that payments can use.',
  ),
  currency_mismatch: permanentError(
    422,
    'The currency differs from the transaction',
    'Send the currency of the transaction: a capture, refund or cancel cannot use another one.',
  ),
  entity_mismatch: permanentError(
    422,
    'The named entities do not belong together',
    'The store does not belong to the merchant, or the device does not belong to the store.',
  ),
  client_id_invalid: permanentError(
    422,
    'The identifier of the request is not valid',
    'Use 1 to 64 characters of A-Z a-z 0-9 . _ : - that do not have the form of an identifier of the platform.',
  ),
  idempotency_key_mismatch: permanentError(
    422,
    'The idempotency key contradicts the body',
    'The header Idempotency-Key and the field clientOperationId must have the same value.',
  ),
  entry_mode_invalid: permanentError(
    422,
    'The entry mode is not valid here',
    'The entry mode is unknown or does not match the instrument. Use Keyed for mail and telephone orders.',
  ),
  instrument_invalid: permanentError(
    422,
    'The instrument does not match the entry mode',
    'The instrument must contain exactly the card data that the entry mode requires.',
  ),
  card_number_invalid: permanentError(
    422,
    'The card number is not valid',
    'A card number has 12 to 19 digits, and the last one is the check digit.',
  ),
  card_expired_input: permanentError(
    422,
    'The card has expired',
    'The expiry date is in the past; the platform did not send the card to the acquirer.',
  ),
  card_token_unknown: permanentError(
    422,
    'The card token is not known',
    'The organisation has no card with this token, or the retention time of the card has ended.',
  ),
  track_data_invalid: permanentError(
    422,
    'The track data is not valid',
    'The track does not follow ISO/IEC 7813, or the check digit of its card number is wrong.',
  ),
  emv_data_invalid: permanentError(
    422,
    'The chip data is not valid',
    'The chip data is not well-formed BER-TLV, or a data object that a chip sale requires is missing.',
  ),
  emv_data_mismatch: permanentError(
    422,
    'The chip data contradicts the request',
    'The amount, currency or card data in the chip data differs from the rest of the request.',
  ),
  encrypted_data_invalid: permanentError(
    422,
    'The encrypted card data cannot be used',
    'The decrypted data is not card data, or its length is wrong. For security the platform gives no details.',
  ),
  avs_data_required: permanentError(
    422,
    'The address data is incomplete',
    'Address verification requires both zipCode and houseNumber.',
  ),
  moto_contact_required: permanentError(
    422,
    'A mail or telephone order requires a contact',
    'Send instrument.address with email or phone, or send zipCode and houseNumber for address verification.',
  ),
  pin_data_incomplete: permanentError(
    422,
    'The PIN data is incomplete',
    'Send ksn, pinblock and pinblockFormat together, or none of them.',
  ),
  pin_format_unsupported: permanentError(
    422,
    'The PIN block format is not supported',
    'Use ISO0, ISO1, ISO3, or ISO4 with AES DUKPT. The HSM must be able to convert the format for the acquirer.',
  ),
  pin_block_invalid: permanentError(
    422,
    'The PIN block cannot be used',
    'PIN block, KSN, format and card number do not match. For security the platform gives no more details.',
  ),
  ksn_reused: permanentError(
    422,
    'The key serial number was used before',
    'Each sale needs a key serial number with a higher counter. Encrypt the data again with the next one.',
  ),
  step_up_invalid: permanentError(
    422,
    'The sale is not a valid step-up',
    'Name a contactless sale of the same device and amount that was declined because it needs the PIN or the chip.',
  ),
  offline_limit_exceeded: permanentError(
    422,
    'The offline limit is exceeded',
    'The amount or the number of offline sales is above the limit of the acquirer contract.',
  ),
  offline_too_old: permanentError(
    422,
    'The offline sale is too old',
    'The offline sale is older than the acquirer contract allows.',
  ),
  too_late: permanentError(
    422,
    'The request arrived too late',
    'If you have sent this request before, request its result. Otherwise send it with a later notAfter.',
  ),
  certificate_request_invalid: permanentError(
    422,
    'The certificate request cannot be used',
    'The PKCS#10 request is damaged or wrongly signed, or its key is not supported. Create a new request.',
  ),
  approval_code_required: permanentError(
    422,
    'An approval code is required',
    'The organisation requires an approval code for refunds and cancels. Send it in approvalCode.',
  ),
  approval_code_invalid: permanentError(
    422,
    'The approval code is not valid',
    'The approval code is unknown, revoked or expired, or is valid for another store or amount.',
  ),
  claim_code_invalid: permanentError(
    422,
    'The claim code is not accepted',
    'Enter the code that the terminal has shown in the last 15 minutes, or ask the operator of the platform.',
  ),
  approval_code_used: permanentError(
    422,
    'The approval code was used',
    'Another operation has used this one-time approval code, or is using it now; send another code.',
  ),
  approval_code_locked: permanentError(
    422,
    'Approval codes are locked',
    'Too many unknown approval codes were sent; wait for the time in Retry-After.',
  ),
} as const;
