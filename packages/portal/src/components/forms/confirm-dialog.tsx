/** A dialog that confirms a change. Repeated clicks send the change only once. */

import { Button, Modal } from '@mantine/core';
import { defined } from '@switchyard/contract';
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { useTranslate } from '../../locales/index.ts';
import { newUuid } from '../../session/random-values.ts';
import { ErrorMessage } from '../layout/error-message.tsx';

export type ConfirmDialogProps<Result> = {
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly title: string;
  /** The text of the button, which names the action; never `OK`. */
  readonly confirm: string;
  readonly isDangerous?: boolean | undefined;
  /** Makes the dialog wider for a form with many fields. */
  readonly size?: 'lg' | undefined;
  readonly isDisabled?: boolean;
  /** Sends the change. The key stays the same until the dialog is opened again. */
  readonly run: (idempotencyKey: string) => Promise<Result>;
  readonly onDone: (result: Result) => void;
  /** Called with the error, so that fields can show their own part of it. */
  readonly onFault?: ((fault: unknown) => void) | undefined;
  readonly inlineErrorFields?: readonly string[];
  readonly children?: ReactNode;
};

export function ConfirmDialog<Result>(props: ConfirmDialogProps<Result>) {
  const { isOpen, onClose, title, size } = props;
  const t = useTranslate('components');
  const isRunning = useRef(false);
  /** The dialog stays open until the result of the request is known. */
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

/** The form exists while the dialog is open, and keeps its idempotency key. */
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
}: Omit<ConfirmDialogProps<Result>, 'isOpen' | 'title' | 'size'> & {
  readonly close: () => void;
  readonly isRunning: { current: boolean };
}) {
  const t = useTranslate('components');
  const [key] = useState(newUuid);
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<unknown>(undefined);
  useEffect(() => {
    return () => {
      isRunning.current = false;
    };
  }, [isRunning]);

  async function send(): Promise<void> {
    // A state update is too late to block the second of two quick clicks.
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
      {fault !== undefined && <ErrorMessage fault={fault} {...defined({ inlineErrorFields })} />}
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
