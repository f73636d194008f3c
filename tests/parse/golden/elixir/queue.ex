defmodule Mill.Job do
  @moduledoc """
  One unit of work, and how often it was tried.

  ## Examples

      iex> Mill.Job.new(:mail, %{to: "ada"})
  """

  use Ecto.Schema
  import Ecto.Changeset, only: [cast: 3, validate_required: 2]
  alias Mill.{Clock, Repo}
  alias Mill.Worker.Registry, as: Workers
  require Logger

  @behaviour Access

  @max_attempts 5
  @states ~w(ready running done)a

  @type state :: :ready | :running | :done
  @typedoc "A job as stored."
  @type t :: %__MODULE__{
          name: atom(),
          attempts: non_neg_integer()
        }
  @opaque token(kind) :: {kind, reference()}

  @derive {Jason.Encoder, only: [:name]}
  @enforce_keys [:name]
  defstruct [:name, :args, attempts: 0, state: :ready]

  defguardp is_fresh(job) when job.attempts == 0

  @doc """
  Makes a job.
  """
  @doc since: "1.0.0"
  @spec new(atom(), map()) :: t()
  def new(name, args \\ %{})

  def new(name, args) when is_atom(name) and is_map(args) do
    %__MODULE__{name: name, args: args}
  end

  def new(name, args), do: new(String.to_existing_atom(name), args)

  # Counted here, not in the worker.
  def bump(%__MODULE__{attempts: n} = job) when n < @max_attempts do
    {:ok, %{job | attempts: n + 1}}
  end

  def bump(%__MODULE__{}), do: {:error, :exhausted}

  @impl Access
  def fetch(job, key), do: Map.fetch(job, key)

  @doc false
  def job <~> other, do: compare(job.name, other.name)

  defp compare(same, same), do: :eq
  defp compare(_, _), do: :ne

  defdelegate encode(job), to: Jason
  defoverridable new: 2
end

defmodule Mill.Error do
  defexception [:message, code: 500]

  @impl true
  def message(%{message: text}), do: text
end

defprotocol Mill.Runnable do
  @doc "Runs it."
  @spec run(t, keyword()) :: {:ok, term()} | {:error, term()}
  def run(runnable, opts)

  @fallback_to_any true
end

defimpl Mill.Runnable, for: Mill.Job do
  def run(job, _opts) do
    job |> Mill.Worker.perform() |> wrap
  end

  defp wrap(result), do: {:ok, result}
end

defmodule Mill.Worker do
  @moduledoc false
  @callback perform(Mill.Job.t()) :: term()
  @macrocallback describe(term()) :: Macro.t()
  @optional_callbacks describe: 1

  defmacro __using__(opts) do
    quote bind_quoted: [opts: opts] do
      @behaviour Mill.Worker
      use GenServer

      def child_spec(arg), do: %{id: __MODULE__, start: {__MODULE__, :start_link, [arg]}}
    end
  end

  defmodule State do
    defstruct queue: :queue.new(), timer: nil
  end

  use GenServer
  alias __MODULE__.State

  ## Client

  def start_link(opts) do
    GenServer.start_link(__MODULE__, opts, name: Keyword.get(opts, :name, __MODULE__))
  end

  @spec perform(Mill.Job.t()) :: term()
  def perform(job) do
    with {:ok, job} <- Mill.Job.bump(job),
         worker when not is_nil(worker) <- Workers.lookup(job.name) do
      worker.perform(job)
    else
      {:error, reason} -> raise Mill.Error, message: inspect(reason)
    end
  end

  ## Server

  @impl GenServer
  def init(opts) do
    state = %State{timer: Process.send_after(self(), :tick, opts[:every] || 1_000)}
    {:ok, state}
  end

  @impl true
  def handle_call({:push, job}, _from, %State{queue: queue} = state) do
    {:reply, :ok, %{state | queue: :queue.in(job, queue)}}
  end

  def handle_call(:size, _from, state), do: {:reply, :queue.len(state.queue), state}

  @impl true
  def handle_info(:tick, state) do
    state.queue
    |> :queue.to_list()
    |> Enum.each(&Mill.Runnable.run(&1, []))

    then(state, fn s -> {:noreply, s} end)
  end

  if Mix.env() == :test do
    def drain(pid), do: GenServer.call(pid, :drain, :infinity)
  end
end
