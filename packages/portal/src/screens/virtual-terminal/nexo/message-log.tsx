/** Lists the Nexo messages of the point of sale with the responses of the terminal. */
import './message-log.css';
import { ActionIcon, Tooltip, UnstyledButton } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { useState } from 'react';
import { Icon } from '../../../components/icon.tsx';
import { ErrorMessage } from '../../../components/layout/error-message.tsx';
import { EmptyState, Panel } from '../../../components/layout/page.tsx';
import { StateBadge, type Tone } from '../../../components/values/state-badge.tsx';
import { useTranslate } from '../../../locales/index.ts';
import { useFormats } from '../../../session/use-session.ts';
import { indentJson, jsonTokens } from './json-tokens.ts';
import type { MessageExchange } from './point-of-sale.ts';

const oneDigit = { minimumFractionDigits: 1, maximumFractionDigits: 1 };

function toneOf({ status, result }: MessageExchange): Tone {
  if (status === 'Waiting') return 'busy';
  if (status === 'Taken') return 'plain';
  if (status === 'Unknown') return 'warn';
  return status === 'Answered' && result !== 'Failure' ? 'good' : 'bad';
}

export function MessageLog({ exchanges }: { readonly exchanges: readonly MessageExchange[] }) {
  const t = useTranslate('virtual-terminal');
  const [chosen, setChosen] = useState<number | undefined>(undefined);
  const selected = exchanges.find(({ number }) => number === chosen) ?? exchanges[0];
  return (
    <Panel title={t('nexo.messages.title')}>
      {selected === undefined ? (
        <EmptyState icon="columns" title={t('nexo.messages.none')}>
          {t('nexo.messages.noneText')}
        </EmptyState>
      ) : (
        <div className="sy-nexo-messages">
          <ul className="sy-nexo-exchanges" aria-label={t('nexo.messages.title')}>
            {exchanges.map((exchange) => (
              <li key={exchange.number}>
                <UnstyledButton
                  className="sy-nexo-exchange"
                  aria-pressed={exchange === selected}
                  onClick={() => setChosen(exchange.number)}
                >
                  <Line exchange={exchange} />
                </UnstyledButton>
              </li>
            ))}
          </ul>
          <Sides exchange={selected} />
        </div>
      )}
    </Panel>
  );
}

function Line({ exchange }: { readonly exchange: MessageExchange }) {
  const t = useTranslate('virtual-terminal');
  const { number } = useFormats();
  const { category, status, result, condition, tookMs } = exchange;
  const resultText = condition ?? result;
  return (
    <>
      <strong>{category}</strong>
      <StateBadge state={status} tone={toneOf(exchange)}>
        {resultText ?? t(`nexo.messages.${status}`)}
      </StateBadge>
      {tookMs !== undefined && (
        <small>{t('nexo.messages.took', { seconds: number(tookMs / 1000, oneDigit) })}</small>
      )}
    </>
  );
}

function Sides({ exchange }: { readonly exchange: MessageExchange }) {
  const t = useTranslate('virtual-terminal');
  const { request, response, status, fault } = exchange;
  return (
    <div className="sy-nexo-sides">
      <div>
        <h3>{t('nexo.messages.request')}</h3>
        <JsonView text={request} label={t('nexo.messages.request')} />
      </div>
      <div>
        <h3>{t('nexo.messages.response')}</h3>
        {response !== undefined && <JsonView text={response} label={t('nexo.messages.response')} />}
        {response === undefined && fault === undefined && (
          <p className="sy-nexo-silence">{t(`nexo.messages.text.${status}`)}</p>
        )}
        {fault !== undefined && <ErrorMessage fault={fault} />}
      </div>
    </div>
  );
}

/** Longer texts would block the page. Copying still copies the complete text. */
const maxChars = 40_000;

function JsonView({ text, label }: { readonly text: string; readonly label: string }) {
  const t = useTranslate('components');
  const { copy, copied } = useClipboard({ timeout: 1_500 });
  const whole = indentJson(text);
  return (
    <div className="sy-json">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also for who has no mouse */}
      <section tabIndex={0} aria-label={label}>
        <pre>
          {jsonTokens(whole.slice(0, maxChars)).map(({ kind, text: part }, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text, in their order
            <span key={at} data-kind={kind}>
              {part}
            </span>
          ))}
          {whole.length > maxChars && '\n…'}
        </pre>
      </section>
      <Tooltip label={t(copied ? 'copy.done' : 'copy.do')}>
        <ActionIcon
          className="sy-json-copy"
          variant="default"
          aria-label={`${t(copied ? 'copy.done' : 'copy.do')}: ${label}`}
          onClick={() => copy(whole)}
        >
          <Icon name={copied ? 'check' : 'copy'} size={15} />
        </ActionIcon>
      </Tooltip>
    </div>
  );
}
