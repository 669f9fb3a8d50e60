/** A change that is asked about before it is made, and that is made once however often it is pressed. */

import { Button, Modal } from '@mantine/core';
import { defined } from '@switchyard/contract';
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { useTranslate } from '../../locales/index.ts';
import { newId } from '../../session/random-values.ts';
import { Problem } from '../layout/error-message.tsx';

export type ConfirmActionProps<Result> = {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly title: string;
  /** Of the button: what it does, never `OK`. */
  readonly confirm: string;
  readonly isDangerous?: boolean;
  /** Of a form with many fields: wider. */
  readonly size?: 'lg' | undefined;
  readonly isDisabled?: boolean;
  /** Sends the change; the key stays the same until the dialogue is opened anew. */
  readonly run: (idempotencyKey: string) => Promise<Result>;
  readonly onDone: (result: Result) => void;
  /** A refusal, for fields that show their own part of it. */
  readonly onFault?: (fault: unknown) => void;
  readonly inlineErrorFields?: readonly string[];
  readonly children?: ReactNode;
};

export function ConfirmAction<Result>(props: ConfirmActionProps<Result>) {
  const { isOpen, onClose, title, size } = props;
  const t = useTranslate('components');
  const isRunning = useRef(false);
  /** While it runs nobody knows how it ends: the dialogue stays. */
  const close = () => {
    if (!isRunning.current) onClose();
  };
  return (
    <Modal
      opened={isOpen}
      onClose={close}
      title={title}
      {...defined({ size })}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <ConfirmForm {...props} close={close} isRunning={isRunning} />
    </Modal>
  );
}

/** Lives as long as the dialogue is open, and the key with it. */
export function ConfirmForm<Result>({
  confirm,
  isDangerous = false,
  isDisabled = false,
  run,
  onDone,
  onFault,
  inlineErrorFields,
  children,
  close,
  isRunning,
}: Omit<ConfirmActionProps<Result>, 'isOpen' | 'title' | 'size'> & {
  readonly close: () => void;
  readonly isRunning: { current: boolean };
}) {
  const t = useTranslate('components');
  const [key] = useState(newId);
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<unknown>(undefined);
  useEffect(() => {
    return () => {
      isRunning.current = false;
    };
  }, [isRunning]);

  async function send(): Promise<void> {
    // State comes too late for the second of two quick presses.
    if (isRunning.current || isDisabled) return;
    isRunning.current = true;
    setBusy(true);
    setFault(undefined);
    try {
      const result = await run(key);
      isRunning.current = false;
      onDone(result);
    } catch (error) {
      setFault(error);
      onFault?.(error);
    } finally {
      isRunning.current = false;
      setBusy(false);
    }
  }

  function submit(event: FormEvent): void {
    event.preventDefault();
    void send();
  }

  return (
    <form onSubmit={submit} className="sy-confirm" noValidate>
      {children}
      {fault !== undefined && <Problem fault={fault} {...defined({ shownFields: inlineErrorFields })} />}
      <div className="sy-confirm-buttons">
        <Button variant="default" onClick={close} disabled={isBusy}>
          {t('cancel')}
        </Button>
        <Button
          type="submit"
          loading={isBusy}
          disabled={isDisabled}
          {...(isDangerous ? { className: 'sy-danger' } : {})}
        >
          {confirm}
        </Button>
      </div>
    </form>
  );
}
